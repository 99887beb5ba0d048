// What compiling one large schema costs, from its text to a grammar with the first token's mask:
//   bench_grammar_compile MODEL [PROPERTIES] [ROUNDS]
// MODEL lends its tokenizer, no weights are read. The schemas have PROPERTIES properties of all
// kinds with every one, two of three or none of them required; each is compiled ROUNDS times by one
// thread.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "chat/grammar_tokens.h"
#include "grammar/grammar_spec.h"
#include "json/json.h"
#include "text/tokenizer.h"

namespace deltaserve {
namespace {

// As applications write them: free and bounded text, numbers, choices, lists, an object inside.
constexpr std::array<std::string_view, 10> kKinds = {
    R"({"type":"string"})",
    R"({"type":"integer","minimum":0,"maximum":100000})",
    R"({"type":"string","maxLength":120})",
    R"({"enum":["new","open","waiting for customer","closed"]})",
    R"({"type":["number","null"]})",
    R"({"type":"array","items":{"type":"string"},"maxItems":8})",
    R"({"type":"boolean"})",
    R"({"type":"string","format":"date-time"})",
    R"({"type":"object","properties":{"street":{"type":"string"},"number":{"type":"integer"}},
        "required":["street","number"],"additionalProperties":false})",
    R"({"type":"string","pattern":"^[A-Z]{2}-[0-9]{4}$"})"};

// Of every three properties the first `required` are required.
std::string schema_text(int32_t properties, int32_t required) {
  std::string fields;
  std::string names;
  for (int32_t i = 0; i < properties; ++i) {
    const std::string name = fmt::format("\"property_{}\"", i);
    fields += fmt::format("{}{}:{}", i == 0 ? "" : ",", name,
                          kKinds[static_cast<size_t>(i) % kKinds.size()]);
    if (i % 3 < required) names += (names.empty() ? "" : ",") + name;
  }
  return fmt::format(
      R"({{"type":"object","properties":{{{}}},"required":[{}],"additionalProperties":false}})",
      fields, names);
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

std::string summary(std::vector<double> values) {
  std::ranges::sort(values);
  return fmt::format("best {:6.2f}  median {:6.2f}  worst {:6.2f} ms", values.front(),
                     values[values.size() / 2], values.back());
}

Result<void> measure(const std::shared_ptr<const GrammarVocabulary>& vocabulary, int32_t properties,
                     int32_t required, int32_t rounds) {
  const std::string text = schema_text(properties, required);
  std::vector<double> compile;
  std::vector<double> mask;
  std::vector<uint64_t> bits(vocabulary->num_words());
  for (int32_t round = 0; round < rounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    auto schema = json::parse(text);
    if (!schema) return std::unexpected(schema.error());
    const auto grammar = compile_grammar(JsonSchemaSpec{std::move(*schema)}, vocabulary);
    if (!grammar) return std::unexpected(grammar.error());
    compile.push_back(milliseconds_since(start));
    start = std::chrono::steady_clock::now();
    (*grammar)->fill_mask((*grammar)->start(), bits);
    mask.push_back(milliseconds_since(start));
  }
  fmt::print("{} of 3 required, {} bytes: compile {}; first mask {}\n", required, text.size(),
             summary(compile), summary(mask));
  return {};
}

Result<void> run(const char* directory, int32_t properties, int32_t rounds) {
  const auto tokenizer = Tokenizer::load(directory);
  if (!tokenizer) return std::unexpected(tokenizer.error());
  const auto start = std::chrono::steady_clock::now();
  const auto vocabulary = make_grammar_vocabulary(**tokenizer, {});
  fmt::print("{}: vocabulary of {} tokens prepared in {:.0f} ms; {} properties, {} rounds\n",
             directory, vocabulary->size(), milliseconds_since(start), properties, rounds);
  for (const int32_t required : {3, 2, 0}) {
    const Result<void> done = measure(vocabulary, properties, required, rounds);
    if (!done) return done;
  }
  return {};
}

}  // namespace
}  // namespace deltaserve

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_grammar_compile MODEL [PROPERTIES] [ROUNDS]\n");
    return 2;
  }
  const auto number = [&](int index, int fallback) {
    return argc > index ? std::max(1, std::atoi(argv[index])) : fallback;
  };
  const auto done = deltaserve::run(argv[1], number(2, 100), number(3, 25));
  if (!done) {
    fmt::print(stderr, "error: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
