// HTTP/1.1 on one connection: reads a request, has it answered, then reads the next; pipelined
// requests wait in the input and are answered in order.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "server/generation_exchange.h"
#include "server/request_reader.h"
#include "server/response_channel.h"
#include "server/server_core.h"
#include "server/transport.h"

namespace deltaserve {

class HttpProtocol final : public Protocol,
                           public ResponseChannel,
                           public std::enable_shared_from_this<HttpProtocol> {
 public:
  // `core` outlives this; `transport` is used until on_closed.
  HttpProtocol(ServerCore& core, Transport& transport, size_t io_index);

  void on_bytes(std::string& input) override;
  void on_sent() override;
  bool on_peer_closed() override;
  void on_closed() override;
  void on_deadline() override;
  void drain() override;

  void respond(HttpResponse response) override;
  void begin_stream() override;
  void stream(std::string_view events) override;
  void end_stream() override;
  void abort() override;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase : uint8_t { kReading, kHandling, kStreaming, kSending, kClosed };
  static constexpr int kClientClosedRequest = 499;  // nginx's number for it

  void on_header();
  std::optional<HttpResponse> check_header();
  std::optional<HttpResponse> check_body() const;
  bool take_body_share();
  void on_request();
  void run_on_worker();
  void on_prepared(Result<ApiService::Prepared> prepared);
  void set_reading_deadline();
  HttpResponse error(const Error& error) const;
  HttpResponse reader_error(int status, const std::string& message) const;
  void respond_and_close(HttpResponse response);
  void send_response(const HttpRequest& request, HttpResponse response);
  std::vector<std::pair<std::string, std::string>> common_headers(const HttpRequest& request) const;
  void count_response(int status);
  void next_request();
  void forget_exchange(int status, std::string_view reason);
  void on_gone(int status, std::string_view reason);

  ServerCore* core_;
  Transport* transport_;
  size_t io_index_;
  RequestReader reader_;
  ByteBudget::Share body_share_;  // of the body being read
  Phase phase_ = Phase::kReading;
  std::shared_ptr<HttpRequest> request_;  // shared with a worker while that reads it
  std::string request_id_;                // "" until the header is complete
  const Route* route_ = nullptr;
  std::optional<HttpResponse> refusal_;           // found in the header, answered after the body
  std::shared_ptr<std::atomic<bool>> cancelled_;  // of the current request, read by workers
  std::shared_ptr<GenerationExchange> exchange_;
  Clock::time_point request_start_;  // first byte of the header, then of the body
  Clock::time_point arrival_;        // the request was complete
  bool keep_alive_ = true;
};

}  // namespace deltaserve
