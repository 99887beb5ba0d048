// Reads the event stream of a /v1/responses answer as a client would, checking its form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace deltaserve {

struct ResponsesStream {
  std::vector<json::Object> events;
  json::Array output;  // what the events of items add up to
  json::Object last;   // the response of the last snapshot
  std::vector<std::string> types() const;
};

// Fails the test if names and types differ, numbers have gaps, an event is about an item that is
// not open, or the final texts are not the sum of their deltas.
ResponsesStream read_responses_stream(std::string_view text);

}  // namespace deltaserve
