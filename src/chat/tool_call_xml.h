// <function=NAME> calls, from behind the name's `>` to `</function>`. Values are whatever stands
// between their tags: no escapes exist, so an end tag only counts where the syntax goes on after
// it, and in an object or array not within a string.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "chat/argument_writer.h"
#include "chat/json_string_state.h"
#include "chat/output_match.h"
#include "chat/tool_call_parser.h"
#include "chat/tool_set.h"

namespace deltaserve {

class XmlToolCall : public ToolCallParser {
 public:
  // `tool`: its declaration, nullptr if there is none; must outlive this.
  XmlToolCall(int32_t index, const DeclaredTool* tool)
      : index_(index), tool_(tool), arguments_(index) {}

  size_t consume(std::string_view input, std::optional<OutputEnd> end, EventSink& sink) override;
  size_t held() const override { return arguments_.held(); }

 private:
  struct ValueEnd {
    Match match = Match::kNo;
    size_t length = 0;  // bytes that belong to the end: a newline and the tag, if there is one
  };

  size_t consume_between(std::string_view input, std::optional<OutputEnd> end, EventSink& sink);
  size_t consume_tag(std::string_view input, std::optional<OutputEnd> end, EventSink& sink);
  size_t consume_value(std::string_view input, std::optional<OutputEnd> end, EventSink& sink);
  ValueEnd find_value_end(std::string_view text, std::optional<OutputEnd> end) const;
  Match match_next_parameter(std::string_view text) const;
  void begin_value(std::string_view key, EventSink& sink);
  void take_text(std::string_view text, EventSink& sink);
  void end_call(EventSink& sink);

  int32_t index_;
  const DeclaredTool* tool_;
  ArgumentWriter arguments_;
  std::set<std::string, std::less<>> seen_;
  bool in_value_ = false;
  bool skip_newline_ = false;  // the one after the opening tag
  bool line_start_ = false;    // nothing of the value has come yet
  // Of an object or array; nullopt: the value may be text.
  std::optional<JsonStringState> json_;
};

// `<function=NAME>` at the front of `text`: kYes with the name and the length, kPartial, or kNo.
struct XmlCallHead {
  Match match = Match::kNo;
  std::string_view name;
  size_t length = 0;
};
XmlCallHead match_xml_call(std::string_view text);

}  // namespace deltaserve
