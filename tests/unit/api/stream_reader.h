// Reads a chat stream as a client does, and checks the form of every chunk on the way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json/json.h"

namespace deltaserve {

// One choice of a stream, joined.
struct StreamedChoice {
  struct Call {
    std::string id;
    std::string name;
    std::string arguments;
  };
  std::string content;
  std::string reasoning;
  std::vector<Call> calls;
  std::string finish_reason;
  json::Value stop_reason;
  json::Array logprobs;
  json::Array token_ids;
  std::vector<std::string> content_deltas;  // without the empty one of the first chunk
  int num_argument_deltas = 0;
};

// Fails the test unless: the role comes in the first delta and never again; both names of the
// thought agree; a call begins with index, id, type, name and empty arguments and goes on with
// index and arguments alone; indices count from 0; the finish reason has a chunk of its own, comes
// once and last.
StreamedChoice read_choice(const std::vector<json::Object>& chunks, int64_t index);

// Fails the test unless `message` of a whole answer says the same. Calls that were cut are left out
// of it.
void expect_same(const StreamedChoice& streamed, const json::Object& choice);

}  // namespace deltaserve
