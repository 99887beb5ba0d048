// Random assistant messages, rendered by the committed templates and parsed back equal.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "chat/chat_template.h"
#include "output_case.h"

namespace deltaserve {
namespace {

using namespace testing_output;  // NOLINT: helpers of these tests

constexpr const char* kTools = R"([
  {"type":"function","function":{"name":"write","parameters":{"type":"object","properties":{
    "text":{"type":"string"},"path":{"type":"string"},"count":{"type":"integer"},
    "force":{"type":"boolean"},"tags":{"type":"array"},"more":{"type":["object","null"]}}}}},
  {"type":"function","function":{"name":"mcp__a-b.c","parameters":{"type":"object"}}}])";

class Messages {
 public:
  explicit Messages(uint64_t seed) : random_(seed) {}

  json::Object next() {
    json::Array calls;
    for (size_t n = below(4); n > 0; --n) {
      const bool write = below(4) != 0;
      calls.push_back({{"type", "function"},
                       {"function",
                        {{"name", write ? "write" : "mcp__a-b.c"},
                         {"arguments", write ? arguments() : json::Object()}}}});
    }
    json::Object message{{"role", "assistant"},
                         {"content", below(4) == 0 ? "" : edge() + text() + edge()},
                         {"reasoning_content", below(4) == 0 ? "" : edge() + text() + edge()}};
    if (!calls.empty()) message["tool_calls"] = std::move(calls);
    return message;
  }

 private:
  size_t below(size_t bound) { return random_() % bound; }

  std::string edge() { return std::string(1, static_cast<char>('a' + below(26))); }

  std::string text() {
    static constexpr const char* kParts[] = {"word ",
                                             "\n",
                                             "\n\n",
                                             "  ",
                                             "</par",
                                             "<",
                                             "</parameter",
                                             "{\"a\": 1}",
                                             "}",
                                             "\"",
                                             "\\",
                                             "\xC3\xA9",
                                             "\xE4\xB8\xAD\xE6\x96\x87",
                                             "<function=",
                                             "</function",
                                             "\t",
                                             "null",
                                             "1.5"};
    std::string out;
    for (size_t n = below(12); n > 0; --n) out += kParts[below(std::size(kParts))];
    return out;
  }

  json::Object arguments() {
    json::Object out;
    if (below(2) == 0) out["text"] = text();
    if (below(2) == 0) out["path"] = text();
    if (below(2) == 0) out["count"] = static_cast<int64_t>(below(100000)) - 50000;
    if (below(2) == 0) out["force"] = below(2) == 0;
    if (below(2) == 0) out["tags"] = json::Array{text(), 1, nullptr, json::Object{{"k", text()}}};
    if (below(2) == 0) out["more"] = json::Object{{text(), true}};
    return out;
  }

  std::mt19937_64 random_;
};

struct Family {
  std::string path;
  bool thinks;
};

void PrintTo(const Family& family, std::ostream* out) {
  *out << family.path;
}

class OutputRoundTrip : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    std::ifstream file(std::string(DELTASERVE_SOURCE_DIR) + "/" + GetParam().path);
    const std::string source{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};
    template_ = ChatTemplate::compile(source).value();
    tools_ = json::parse(kTools).value().get_array();
  }

  std::string render(const json::Array& messages, bool generate) const {
    const auto prompt = template_->render(json::Object{
        {"messages", messages}, {"tools", tools_}, {"add_generation_prompt", generate}});
    return prompt ? prompt->text : "error: " + prompt.error().message;
  }

  std::unique_ptr<ChatTemplate> template_;
  json::Array tools_;
};

// What a message says, ids aside and with arguments as objects.
json::Object comparable(const json::Object& message) {
  json::Object out;
  const json::Value* content = message.if_contains("content");
  out["content"] = content->is_null() ? json::Value("") : *content;
  const json::Value* reasoning = message.if_contains("reasoning_content");
  out["reasoning"] = reasoning == nullptr ? json::Value("") : *reasoning;
  json::Array& calls = out["calls"].emplace_array();
  if (const json::Value* given = message.if_contains("tool_calls")) {
    for (const json::Value& call : given->get_array()) {
      const json::Value& arguments = call.at("function").at("arguments");
      calls.push_back(
          {{"name", call.at("function").at("name")},
           {"arguments",
            arguments.is_string() ? json::parse(arguments.get_string()).value() : arguments}});
    }
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Templates, OutputRoundTrip,
                         testing::Values(Family{"models/tiny/chat_template.jinja", true},
                                         Family{"tests/data/chat/templates/qwen3_6.jinja", true},
                                         Family{"tests/data/chat/templates/qwen3_8.jinja", true},
                                         Family{"tests/data/chat/templates/qwen3_hermes.jinja",
                                                false}));

TEST_P(OutputRoundTrip, ParsesWhatTheTemplateRenders) {
  const json::Object question{{"role", "user"}, {"content", "Hi"}};
  const std::string prompt = render({question}, true);
  Messages messages(7);
  Case tested{.start = output_start(prompt),
              .format = tool_call_format(template_->source()),
              .tools = kTools};
  for (int i = 0; i < 300; ++i) {
    json::Object message = messages.next();
    if (!GetParam().thinks) message["reasoning_content"] = "";
    std::string text = render({question, message}, false);
    ASSERT_TRUE(text.starts_with(prompt)) << text;
    text.erase(0, prompt.size());
    text.erase(text.rfind("<|im_end|>"));
    const Outcome whole = run_pieces(tested, {text});
    EXPECT_EQ(comparable(whole.message), comparable(message)) << text;
    EXPECT_EQ(run_tokens(tested, text), whole) << text;
    const size_t cut = text.size() * static_cast<size_t>(i) / 300;
    EXPECT_EQ(run_pieces(tested, {text.substr(0, cut), text.substr(cut)}), whole) << text;
  }
}

}  // namespace
}  // namespace deltaserve
