// One generation from submit to the last byte: engine outputs become events or a body on the
// channel, and a client that goes away takes its sequences with it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "api/api_service.h"
#include "api/generation_session.h"
#include "server/response_channel.h"
#include "server/server_core.h"

namespace deltaserve {

class GenerationExchange final : public OutputReceiver,
                                 public std::enable_shared_from_this<GenerationExchange> {
 public:
  using Clock = std::chrono::steady_clock;

  // `core` outlives this; `channel` is used until cancel() or the end of the answer.
  GenerationExchange(ServerCore& core, ResponseChannel& channel, size_t io_index,
                     ApiService::Prepared prepared, Clock::time_point arrival);

  // Submits all prompts; a refusal by the engine is answered at once.
  void start();

  // The client is gone: aborts what runs, touches the channel no more.
  void cancel();

  // Sends a comment line, if this is a stream, so that proxies keep the connection.
  void keep_alive();

  void on_output(size_t prompt_index, RequestOutput&& output) override;
  void on_step_end() override;
  void on_exception(const std::string& what) override;

 private:
  void fail(const Error& error);
  void release(bool abort);
  void complete();
  void record() const;
  void open_stream();

  ServerCore* core_;
  ResponseChannel* channel_;
  size_t io_index_;
  std::shared_ptr<const ServingContext> context_;
  std::vector<Request> requests_;  // until submitted
  GenerationSession session_;
  std::vector<RequestId> ids_;
  Clock::time_point arrival_;
  Clock::time_point first_output_;
  int64_t max_tokens_ = 0;
  std::string events_;  // of the current step
  bool stream_open_ = false;
  bool ended_ = false;     // no more outputs are looked at
  bool complete_ = false;  // the answer is whole; on_step_end sends it
};

}  // namespace deltaserve
