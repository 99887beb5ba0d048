// Running one text in many ways.
#include "output_case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace deltaserve::testing_output {
namespace {

constexpr std::string_view kBorder = "\xC2\xA6";  // ¦

OutputOptions options_of(const Case& tested) {
  OutputOptions options;
  options.start = tested.start;
  if (!tested.tools.empty()) {
    const auto tools = json::parse(tested.tools);
    auto set = ToolSet::from_json(tools.value().get_array());
    options.tools = std::make_shared<const ToolSet>(*std::move(set));
    options.format = tested.format;
  }
  return options;
}

std::vector<std::string> split(std::string_view marked) {
  std::vector<std::string> pieces;
  for (size_t at = 0;;) {
    const size_t border = marked.find(kBorder, at);
    pieces.emplace_back(marked.substr(at, border - at));
    if (border == std::string_view::npos) return pieces;
    at = border + kBorder.size();
  }
}

std::string join(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

void collect_calls(Outcome& outcome) {
  std::map<int32_t, std::string> calls;
  for (const OutputEvent& event : outcome.events) {
    if (event.kind == OutputEvent::Kind::kToolCallBegin) {
      EXPECT_EQ(event.index, static_cast<int32_t>(calls.size()));
      calls[event.index] = event.name;
    } else if (event.kind == OutputEvent::Kind::kArguments) {
      calls.at(event.index) += event.text;
    } else if (event.kind == OutputEvent::Kind::kToolCallEnd) {
      const std::string& text = calls.at(event.index);
      outcome.whole.push_back(text);
      EXPECT_TRUE(json::parse(text.substr(text.find('{')))) << text;
    }
  }
  for (const auto& [index, text] : calls) outcome.calls.push_back(text);
}

class Collector {
 public:
  void take(const std::vector<OutputEvent>& events) {
    message_.add(events);
    outcome_.events.insert(outcome_.events.end(), events.begin(), events.end());
  }

  Outcome outcome(OutputEnd end) {
    outcome_.content = message_.content();
    outcome_.reasoning = message_.reasoning();
    outcome_.message = message_.message();
    outcome_.finish_reason = message_.finish_reason(end);
    collect_calls(outcome_);
    return std::move(outcome_);
  }

 private:
  OutputMessage message_;
  Outcome outcome_;
};

}  // namespace

Outcome run_pieces(const Case& tested, const std::vector<std::string>& pieces) {
  OutputTextParser parser(control_texts(), options_of(tested), ToolIdGenerator(1));
  Collector collector;
  for (const std::string& piece : pieces) collector.take(parser.push(piece));
  collector.take(parser.finish(tested.end));
  return collector.outcome(tested.end);
}

Outcome run_tokens(const Case& tested, std::string_view text) {
  static const auto kTokenizer = Tokenizer::load(DELTASERVE_SOURCE_DIR "/models/tiny");
  const Tokenizer& tokenizer = *kTokenizer.value();
  OutputTokenParser parser(tokenizer, options_of(tested), ToolIdGenerator(1));
  Collector collector;
  for (const int32_t id : tokenizer.encode(text)) collector.take(parser.push(id));
  collector.take(parser.finish(tested.end));
  return collector.outcome(tested.end);
}

Outcome run_all(const Case& tested, std::string_view marked) {
  const std::vector<std::string> pieces = split(marked);
  const std::string text = join(pieces);
  Outcome outcome = run_pieces(tested, pieces);
  EXPECT_EQ(run_pieces(tested, {text}), outcome) << "as one piece";
  std::vector<std::string> bytes;
  for (size_t at = 0; at < text.size(); ++at) {
    bytes.emplace_back(1, text[at]);
    EXPECT_EQ(run_pieces(tested, {text.substr(0, at), text.substr(at)}), outcome)
        << "cut at " << at;
  }
  EXPECT_EQ(run_pieces(tested, bytes), outcome) << "byte by byte";
  EXPECT_EQ(run_tokens(tested, text), outcome) << "token by token";
  for (const OutputEvent& event : outcome.events) {
    if (event.kind == OutputEvent::Kind::kReasoning || event.kind == OutputEvent::Kind::kContent) {
      EXPECT_FALSE(event.text.empty());
    }
  }
  return outcome;
}

std::string call(std::string_view name,
                 const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string text = fmt::format("<tool_call>\n<function={}>\n", name);
  for (const auto& [key, value] : parameters) {
    text += fmt::format("<parameter={}>\n{}\n</parameter>\n", key, value);
  }
  return text + "</function>\n</tool_call>";
}

std::string tools_json(const std::vector<std::pair<std::string, std::string>>& tools) {
  json::Array array;
  for (const auto& [name, parameters] : tools) {
    array.push_back(
        {{"type", "function"},
         {"function", {{"name", name}, {"parameters", json::parse(parameters).value()}}}});
  }
  return json::serialize(array);
}

}  // namespace deltaserve::testing_output
