// Any bytes as a model's text, special tokens written out, in pieces of any size and in any mode.
// The first byte chooses the mode, the second the size of the pieces. Pieces say what the whole
// text says, no event is empty, ended calls hold JSON objects, and a call that was cut holds the
// beginning of one.
#include <boost/json/stream_parser.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "chat/output_message.h"
#include "chat/output_text_parser.h"
#include "json/json.h"
#include "text/utf8.h"

namespace {

using namespace deltaserve;  // NOLINT: one file, one purpose

constexpr std::string_view kTools = R"([
  {"name":"f","parameters":{"properties":{"s":{"type":"string"},"n":{"type":"integer"},
    "o":{"type":"object"},"t":{"type":["string","null"]}}}},
  {"name":"mcp__a-b.c"}])";

void require(bool condition) {
  if (!condition) std::abort();
}

struct Said {
  std::string reasoning;
  std::string content;
  struct Call {
    std::string name;
    std::string arguments;
    bool whole = false;
    bool operator==(const Call&) const = default;
  };
  std::map<int32_t, Call> calls;
  bool operator==(const Said&) const = default;

  void add(const std::vector<OutputEvent>& events) {
    for (const OutputEvent& event : events) add(event);
  }

  void add(const OutputEvent& event) {
    using Kind = OutputEvent::Kind;
    const bool has_text = event.kind != Kind::kToolCallBegin && event.kind != Kind::kToolCallEnd;
    require(has_text != event.text.empty());
    if (event.kind == Kind::kReasoning) reasoning += event.text;
    if (event.kind == Kind::kContent) content += event.text;
    if (event.kind == Kind::kToolCallBegin) {
      require(event.index == static_cast<int32_t>(calls.size()) && !event.name.empty());
      calls[event.index].name = event.name;
    }
    if (event.kind == Kind::kArguments) {
      require(!calls.at(event.index).whole);
      calls.at(event.index).arguments += event.text;
    }
    if (event.kind == Kind::kToolCallEnd) calls.at(event.index).whole = true;
  }
};

OutputOptions options_of(uint8_t mode) {
  static const auto kSet = std::make_shared<const ToolSet>(
      ToolSet::from_json(json::parse(kTools).value().get_array()).value());
  OutputOptions options;
  options.start = static_cast<OutputStart>(mode % 3);
  options.format = static_cast<ToolCallFormat>(mode / 3 % 3);
  if (options.format != ToolCallFormat::kNone) options.tools = kSet;
  return options;
}

Said run(uint8_t mode, std::string_view text, size_t piece) {
  OutputTextParser parser(control_texts(), options_of(mode), ToolIdGenerator(1));
  Said said;
  while (!text.empty()) {
    said.add(parser.push(text.substr(0, piece)));
    text.remove_prefix(std::min(piece, text.size()));
  }
  said.add(parser.finish(mode / 9 % 2 == 0 ? OutputEnd::kStop : OutputEnd::kLength));
  return said;
}

void check_arguments(const Said::Call& call) {
  boost::json::parse_options options;
  options.max_depth = json::ParseLimits{}.max_depth;
  boost::json::stream_parser parser(boost::json::storage_ptr(), options);
  boost::system::error_code error;
  parser.write(call.arguments.data(), call.arguments.size(), error);
  require(!error);
  if (call.whole) {
    parser.finish(error);
    require(!error && parser.release().is_object());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const std::string text =
      utf8::repair(std::string_view(reinterpret_cast<const char*>(data) + 2, size - 2));
  const size_t piece = data[1] == 0 ? 1 : data[1];
  const Said whole = run(data[0], text, text.size());
  require(run(data[0], text, piece) == whole);
  require(run(data[0], text, 1) == whole);
  for (const auto& [index, call] : whole.calls) check_arguments(call);
  return 0;
}
