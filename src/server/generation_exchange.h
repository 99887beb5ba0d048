// One generation from submit to the last byte: engine outputs become events or a body on the
// channel, and a client that goes away takes its sequences with it. However it ends, it is logged
// and counted once.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_service.h"
#include "api/generation_session.h"
#include "server/generation_record.h"
#include "server/response_channel.h"
#include "server/server_core.h"

namespace deltaserve {

// Where a generation came from.
struct GenerationOrigin {
  size_t io_index = 0;
  std::string request_id;
  std::string route;
  std::chrono::steady_clock::time_point arrival;  // the request was complete
};

class GenerationExchange final : public OutputReceiver,
                                 public std::enable_shared_from_this<GenerationExchange> {
 public:
  using Clock = std::chrono::steady_clock;

  // `core` outlives this; `channel` is used until cancel() or the end of the answer.
  GenerationExchange(ServerCore& core, ResponseChannel& channel, GenerationOrigin origin,
                     ApiService::Prepared prepared);

  // Submits all prompts; a refusal by the engine is answered at once.
  void start();

  // The client is gone, or is sent away with that status: aborts what runs, touches the channel no
  // more.
  void cancel(int status, std::string_view reason);

  // Sends a comment line, if this is a stream, so that proxies keep the connection.
  void keep_alive();

  void on_output(size_t prompt_index, RequestOutput&& output) override;
  void on_step_end() override;
  void on_exception(const std::string& what) override;

 private:
  void note_output(size_t prompt_index, const RequestOutput& output);
  void fail(const Error& error);
  void release(bool abort);
  void complete();
  void record(GenerationOutcome outcome, int status, std::string_view reason);
  void open_stream();

  ServerCore* core_;
  ResponseChannel* channel_;
  GenerationOrigin origin_;
  std::shared_ptr<const ServingContext> context_;
  std::vector<Request> requests_;  // until submitted
  GenerationSession session_;
  std::vector<RequestId> ids_;
  RequestTimes times_;  // of the prompt that gave the first token
  Clock::time_point first_output_;
  std::vector<Clock::time_point> last_output_;  // per prompt
  int64_t max_tokens_ = 0;
  std::string events_;  // of the current step
  bool stream_open_ = false;
  bool ended_ = false;     // no more outputs are looked at
  bool complete_ = false;  // the answer is whole; on_step_end sends it
  bool recorded_ = false;
};

}  // namespace deltaserve
