// Runs model text through the output parser in every way it may arrive: as one piece, in pieces
// marked with ¦, and cut in two at every byte; all have to agree.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/output_message.h"
#include "chat/output_text_parser.h"
#include "json/json.h"

namespace deltaserve::testing_output {

struct Case {
  OutputStart start = OutputStart::kAfterThought;
  ToolCallFormat format = ToolCallFormat::kXml;
  std::string tools;  // JSON array, "" for none
  OutputEnd end = OutputEnd::kStop;
};

struct Outcome {
  std::string content;
  std::string reasoning;
  std::vector<std::string> calls;  // "name{arguments}" of every call that has begun
  std::vector<std::string> whole;  // the same of those that ended
  json::Object message;
  std::string finish_reason;
  std::vector<OutputEvent> events;  // in the first way it was run

  bool operator==(const Outcome& other) const {
    return content == other.content && reasoning == other.reasoning && calls == other.calls &&
           whole == other.whole && message == other.message;
  }
};

// One run over the pieces.
Outcome run_pieces(const Case& tested, const std::vector<std::string>& pieces);

// One run over the ids that the bundled model's tokenizer makes of `text`.
Outcome run_tokens(const Case& tested, std::string_view text);

// All ways; fails the test where they differ. `marked` may hold ¦ between pieces.
Outcome run_all(const Case& tested, std::string_view marked);

// <tool_call> with one function and its parameters.
std::string call(std::string_view name,
                 const std::vector<std::pair<std::string, std::string>>& parameters = {});

// Tools of the given names with `parameters` (JSON) each.
std::string tools_json(const std::vector<std::pair<std::string, std::string>>& tools);

}  // namespace deltaserve::testing_output
