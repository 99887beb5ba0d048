// The `parse` command: raw text, special tokens written out, through the output parser.
#include "app/parse_command.h"

#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli_options.h"
#include "base/read_file.h"
#include "chat/chat_template.h"
#include "chat/output_message.h"
#include "chat/output_text_parser.h"
#include "json/json.h"
#include "text/tokenizer.h"

namespace deltaserve {

namespace {

// A chat model ends its answers with the first; a plain one with the second.
constexpr std::string_view kEndTokens[] = {"<|im_end|>", "<|endoftext|>"};

constexpr size_t kMaxToolsBytes = size_t{64} << 20;  // what the server takes of a request

std::string read_all(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Result<std::shared_ptr<const ToolSet>> read_tools(const std::filesystem::path& path) {
  const auto text = read_file(path, kMaxToolsBytes);
  if (!text) return std::unexpected(text.error());
  auto value = json::parse(*text);
  if (!value) return invalid(fmt::format("{}: {}", path.string(), value.error().message), "tools");
  const json::Value* tools =
      value->is_object() ? value->get_object().if_contains("tools") : &*value;
  if (tools == nullptr || !tools->is_array()) {
    return invalid(fmt::format("{} must hold an array of tools", path.string()), "tools");
  }
  auto set = ToolSet::from_json(tools->get_array());
  if (!set) return std::unexpected(set.error());
  return std::make_shared<const ToolSet>(*std::move(set));
}

// Where a prompt of the template leaves off, with thinking as asked for or at its default.
Result<OutputStart> start_of(const ChatTemplate& chat_template, const std::string& thinking) {
  if (thinking == "on") return OutputStart::kReasoning;
  if (thinking == "off") return OutputStart::kAfterThought;
  const json::Object variables{
      {"messages", json::Array{json::Object{{"role", "user"}, {"content", "Hello"}}}},
      {"add_generation_prompt", true}};
  const auto prompt = chat_template.render(variables);
  if (!prompt) return std::unexpected(prompt.error());
  return output_start(prompt->text);
}

Result<OutputOptions> output_options(const ParseCommandOptions& options) {
  const auto chat_template = ChatTemplate::load(options.directory);
  if (!chat_template) return std::unexpected(chat_template.error());
  const auto start = start_of(**chat_template, options.thinking);
  if (!start) return std::unexpected(start.error());
  OutputOptions output;
  output.start = *start;
  if (!options.tools) return output;
  auto tools = read_tools(*options.tools);
  if (!tools) return std::unexpected(tools.error());
  if (!(*tools)->empty()) output.format = tool_call_format((*chat_template)->source());
  output.tools = *std::move(tools);
  return output;
}

Result<std::vector<std::string>> read_pieces(bool as_array) {
  std::string input = read_all(std::cin);
  if (!as_array) return std::vector<std::string>{std::move(input)};
  const auto value = json::parse(input);
  if (!value) return std::unexpected(value.error());
  if (!value->is_array()) return invalid("with --pieces the input must be an array of strings");
  std::vector<std::string> pieces;
  for (const json::Value& piece : value->get_array()) {
    if (!piece.is_string()) return invalid("with --pieces the input must be an array of strings");
    pieces.emplace_back(piece.get_string());
  }
  return pieces;
}

json::Object delta_json(const OutputEvent& event) {
  const auto call = [&event](json::Object function) {
    return json::Object{{"index", event.index}, {"function", std::move(function)}};
  };
  switch (event.kind) {
    case OutputEvent::Kind::kReasoning:
      return {{"reasoning_content", event.text}};
    case OutputEvent::Kind::kContent:
      return {{"content", event.text}};
    case OutputEvent::Kind::kToolCallBegin: {
      json::Object begun = call({{"name", event.name}, {"arguments", ""}});
      begun["id"] = event.id;
      begun["type"] = "function";
      return {{"tool_calls", json::Array{std::move(begun)}}};
    }
    case OutputEvent::Kind::kArguments:
      return {{"tool_calls", json::Array{call({{"arguments", event.text}})}}};
    case OutputEvent::Kind::kToolCallEnd:
      break;
  }
  return {};
}

void print_deltas(const std::vector<OutputEvent>& events) {
  for (const OutputEvent& event : events) {
    if (event.kind == OutputEvent::Kind::kToolCallEnd) continue;
    fmt::print("{}\n", json::dumps(delta_json(event)));
  }
}

}  // namespace

int run_parse(const ParseCommandOptions& options) {
  const auto tokenizer = Tokenizer::load(options.directory);
  if (!tokenizer) return report_failure(tokenizer.error());
  auto output = output_options(options);
  if (!output) return report_failure(output.error());
  const auto pieces = read_pieces(options.pieces);
  if (!pieces) return report_failure(pieces.error());

  std::vector<int32_t> end_ids;
  for (const std::string_view token : kEndTokens) {
    if (const auto id = (*tokenizer)->token_to_id(token)) end_ids.push_back(*id);
  }
  OutputTextParser parser(special_texts(**tokenizer, end_ids), *std::move(output));
  OutputMessage message;
  const auto take = [&](const std::vector<OutputEvent>& events) {
    message.add(events);
    if (options.stream) print_deltas(events);
  };
  for (const std::string& piece : *pieces) take(parser.push(piece));
  const bool cut = options.finish == "length" && !parser.ended();
  const OutputEnd end = cut ? OutputEnd::kLength : OutputEnd::kStop;
  take(parser.finish(end));
  json::Object last;
  if (!options.stream) last["message"] = message.message();
  last["finish_reason"] = message.finish_reason(end);
  fmt::print("{}\n", json::dumps(last));
  return 0;
}

}  // namespace deltaserve
