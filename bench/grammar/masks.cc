// Times compiling grammars and computing token masks over a vocabulary. Each document is cut into
// tokens and walked; at every token the mask is computed and the token has to be in it. The first
// walk of a grammar meets new states, later ones mostly known ones; both are printed, in processor
// time, which other programs disturb less than the clock.
#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/detail/base64.hpp>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/grammar_spec.h"

namespace deltaserve {
namespace {

double processor_microseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

struct Times {
  std::vector<double> values;

  std::string summary() {
    if (values.empty()) return "-";
    std::ranges::sort(values);
    const auto at = [this](double share) {
      return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
    };
    double sum = 0.0;
    for (const double value : values) sum += value;
    return fmt::format("mean {:8.2f}  p50 {:8.2f}  p99 {:8.2f}  p99.9 {:8.2f}  max {:8.2f} us",
                       sum / static_cast<double>(values.size()), at(0.5), at(0.99), at(0.999),
                       at(1.0));
  }
};

// Lines of base64 and a rank, as tiktoken files are; the last token ends an answer.
std::vector<std::string> read_vocabulary(const char* path) {
  namespace base64 = boost::beast::detail::base64;
  std::vector<std::string> tokens;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::string text = line.substr(0, line.find(' '));
    std::string bytes(base64::decoded_size(text.size()), '\0');
    bytes.resize(base64::decode(bytes.data(), text.data(), text.size()).first);
    tokens.push_back(std::move(bytes));
  }
  tokens.emplace_back();
  return tokens;
}

class Bench {
 public:
  explicit Bench(std::vector<std::string> tokens) {
    for (size_t id = 0; id < tokens.size(); ++id) {
      ids_.emplace(tokens[id], static_cast<int32_t>(id));
      longest_ = std::max(longest_, tokens[id].size());
    }
    const auto end = static_cast<int32_t>(tokens.size() - 1);
    const double start = processor_microseconds();
    vocabulary_ = std::make_shared<GrammarVocabulary>(std::move(tokens), std::vector{end});
    fmt::print("vocabulary of {} tokens prepared in {:.0f} ms\n", vocabulary_->size(),
               (processor_microseconds() - start) / 1e3);
  }

  bool run(const json::Object& item) {
    const GrammarSpec spec = JsonSchemaSpec{item.at("schema")};
    const double start = processor_microseconds();
    const auto grammar = compile_grammar(spec, vocabulary_);
    compile_.values.push_back(processor_microseconds() - start);
    if (!grammar) {
      fmt::print("refused: {}\n", grammar.error().message);
      ++refused_;
      return true;
    }
    for (int round = 0; round < 3; ++round) {
      for (const json::Value& document : item.at("documents").get_array()) {
        if (!walk(**grammar, document.get_string(), round == 0 ? first_ : later_)) return false;
      }
    }
    return true;
  }

  void print() {
    fmt::print("refused schemas {}\ncompile      {}\nfirst walk   {}\nlater walks  {}\n", refused_,
               compile_.summary(), first_.summary(), later_.summary());
  }

 private:
  // Always the longest token that fits.
  std::vector<int32_t> tokenize(std::string_view text) const {
    std::vector<int32_t> ids;
    while (!text.empty()) {
      size_t size = std::min(text.size(), longest_);
      while (size > 1 && !ids_.contains(std::string(text.substr(0, size)))) --size;
      ids.push_back(ids_.at(std::string(text.substr(0, size))));
      text.remove_prefix(size);
    }
    return ids;
  }

  bool walk(Grammar& grammar, std::string_view document, Times& times) {
    std::vector<uint64_t> bits(vocabulary_->num_words());
    Grammar::State state = grammar.start();
    for (const int32_t token : tokenize(document)) {
      const double start = processor_microseconds();
      grammar.fill_mask(state, bits);
      times.values.push_back(processor_microseconds() - start);
      state = grammar.advance(state, token);
      if (state == Grammar::kDead ||
          (bits[static_cast<size_t>(token) >> 6] >> (token & 63) & 1) == 0) {
        fmt::print("not accepted: {}\n", document);
        return false;
      }
    }
    return grammar.may_end(state);
  }

  std::unordered_map<std::string, int32_t> ids_;
  size_t longest_ = 1;
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  Times compile_;
  Times first_;
  Times later_;
  int64_t refused_ = 0;
};

}  // namespace
}  // namespace deltaserve

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: bench_grammar VOCABULARY.tiktoken CASES.jsonl\n");
    return 2;
  }
  deltaserve::Bench bench(deltaserve::read_vocabulary(argv[1]));
  std::ifstream cases(argv[2]);
  for (std::string line; std::getline(cases, line);) {
    const auto item = deltaserve::json::parse(line);
    if (!item || !bench.run(item->get_object())) return 1;
  }
  bench.print();
  return 0;
}
