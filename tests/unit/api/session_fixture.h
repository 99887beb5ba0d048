// Runs scripted engine outputs through a streamed and a whole answer, to compare the two.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/generation_session.h"
#include "api_fixture.h"
#include "stream_reader.h"

namespace deltaserve {

constexpr int32_t kEos = 4002;

struct Answer {
  std::vector<json::Object> chunks;  // streamed
  json::Object body;                 // not streamed
  std::vector<int32_t> stopped;      // choices that the session ended itself
  std::optional<Error> error;
};

class SessionTest : public ApiTest {
 protected:
  // One token a step for choice `index`; the last step carries `reason`.
  static std::vector<RequestOutput> steps(const std::vector<int32_t>& ids, FinishReason reason,
                                          int32_t index = 0);
  std::vector<int32_t> encode(std::string_view text) const;
  std::vector<int32_t> with_eos(std::string_view text) const;

  Answer run(const ApiService::Prepared& prepared, const std::vector<RequestOutput>& outputs);
  // Without thinking, unless `fields` say otherwise.
  Answer run_chat(std::string_view fields, const std::vector<RequestOutput>& outputs);
  // The same read as a client does; the whole answer must say what the stream says.
  StreamedChoice run_choice(std::string_view fields, const std::vector<RequestOutput>& outputs);

  // The JSON of each event but [DONE], which must come once and last.
  static std::vector<json::Object> parse_events(std::string_view events);
  static std::string streamed_text(const Answer& answer, int64_t index = 0);
  static std::string whole_text(const Answer& answer, size_t index = 0);
  // A key of the chunk with finish_reason, whose delta must be empty and which must exist once.
  static json::Value finish_of(const Answer& answer, const char* key = "finish_reason");
};

}  // namespace deltaserve
