// Divides the model's text into the thought and what follows it. Only the token </think> ends a
// thought. Blanks at a thought's ends are layout, not part of it. A call inside a thought is one
// only if it is whole, names declared tools and nothing follows it; otherwise it is thought.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chat/output_content.h"
#include "chat/output_match.h"

namespace deltaserve {

// Where the rendered prompt leaves off.
enum class OutputStart : uint8_t {
  kReasoning,     // behind an opened thought
  kAfterThought,  // behind a thought that the prompt has closed
  kContent,       // neither: a thought may still begin with its own token
};

OutputStart output_start(std::string_view prompt_text);

// What the model is writing, as far as its tokens are to be counted.
enum class OutputPart : uint8_t {
  kThought,
  kCallInThought,  // thought, unless it turns out at the end to be a call
  kAnswer,
};

class ReasoningSplitter {
 public:
  // All must outlive this.
  ReasoningSplitter(OutputStart start, ToolCallFormat format, const ToolSet& tools,
                    const ToolIdGenerator& ids, ContentParser& content);

  void push(std::string_view bytes, EventSink& sink);
  void finish(OutputEnd end, EventSink& sink);

  OutputPart part() const;
  size_t held() const;  // bytes at the end of the input that no event has been made of yet

 private:
  enum class State : uint8_t { kBefore, kThought, kCallInThought, kContent };

  size_t take(std::string_view input, EventSink& sink);
  size_t take_before(std::string_view input, EventSink& sink);
  size_t take_thought(std::string_view input, EventSink& sink);
  size_t take_call(char c, EventSink& sink);
  void emit(std::string_view text, EventSink& sink);
  void end_thought();
  void give_up_call(EventSink& sink);
  bool recover_call(EventSink& sink) const;
  bool may_be_call();

  State state_;
  ToolCallFormat format_;
  const ToolSet* tools_;
  const ToolIdGenerator* ids_;
  ContentParser* content_;
  std::string space_;           // blanks that count only if more of the same follows
  std::string call_;            // from <tool_call> on, with control bytes
  size_t last_call_ = 0;        // where the last call of `call_` begins
  bool call_closed_ = false;    // its closing token has come
  bool head_decided_ = false;   // that last call begins as a call must
  bool thought_begun_ = false;  // something of the thought has been emitted
};

}  // namespace deltaserve
