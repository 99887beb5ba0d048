// HttpProtocol: writing responses and streams.
#include <algorithm>
#include <iterator>
#include <utility>

#include "server/client_request_id.h"
#include "server/http_protocol.h"
#include "server/request_log.h"
#include "server/response_head.h"

namespace deltaserve {

void HttpProtocol::count_response(int status) {
  core_->metrics.record_response(route_ != nullptr ? route_->path : "other", status);
}

HttpResponse HttpProtocol::error(const Error& error) const {
  const std::string& path = request_ ? request_->path : reader_.request().path;
  return error_response(error, core_->router.error_writer(path), request_id_);
}

HttpResponse HttpProtocol::reader_error(int status, const std::string& message) const {
  HttpResponse response = error(
      {status == 413 ? ErrorCode::kPayloadTooLarge : ErrorCode::kInvalidArgument, message, "", ""});
  response.status = status;
  return response;
}

// Of every answer.
std::vector<std::pair<std::string, std::string>> HttpProtocol::common_headers(
    const HttpRequest& request) const {
  auto headers = core_->cors.headers(request);
  headers.emplace_back("X-Request-Id", request_id_);
  headers.emplace_back("Request-Id", request_id_);  // where Anthropic's clients look for it
  return headers;
}

void HttpProtocol::respond(HttpResponse response) {
  if (transport_ == nullptr) {
    return;
  }
  exchange_.reset();
  send_response(*request_, std::move(response));
}

void HttpProtocol::send_response(const HttpRequest& request, HttpResponse response) {
  count_response(response.status);
  if (request_id_.empty()) {  // the header did not come to its end
    request_id_ = choose_request_id(request.header("x-request-id"));
  }
  const bool quiet = route_ != nullptr && route_->open;  // probes ask again and again
  if (response.status >= 500 ? !quiet : response.status >= 400 && core_->options.log_requests) {
    log_refusal(request_id_, request.method, request.path, response.status, response.error_message);
  }
  ResponseHead head;
  head.status = response.status;
  head.content_type = std::move(response.content_type);
  head.headers = common_headers(request);
  std::ranges::move(response.headers, std::back_inserter(head.headers));
  if (response.status != 204) {
    head.content_length = response.body.size();
  }
  head.keep_alive = keep_alive_;
  std::string bytes = write_head(head);
  if (request.method != "HEAD") {
    bytes += response.body;
  }
  phase_ = Phase::kSending;
  transport_->send(bytes);
}

// For requests that are not read to their end: what follows in the input cannot be told from them.
void HttpProtocol::respond_and_close(HttpResponse response) {
  keep_alive_ = false;
  send_response(reader_.request(), std::move(response));
}

void HttpProtocol::begin_stream() {
  if (transport_ == nullptr) {
    return;
  }
  count_response(200);
  phase_ = Phase::kStreaming;
  ResponseHead head;
  head.content_type = "text/event-stream; charset=utf-8";
  head.headers = common_headers(*request_);
  head.headers.emplace_back("Cache-Control", "no-cache");
  head.headers.emplace_back("X-Accel-Buffering", "no");  // nginx: do not hold events back
  head.chunked = request_->http11;
  keep_alive_ = keep_alive_ && request_->http11;  // 1.0 ends a stream by closing
  head.keep_alive = keep_alive_;
  transport_->send(write_head(head));
}

void HttpProtocol::stream(std::string_view events) {
  if (transport_ == nullptr || events.empty()) {
    return;
  }
  if (transport_->unsent_bytes() > core_->options.max_outbox_bytes) {
    on_gone(kClientClosedRequest, "the client reads too slowly");
    transport_->close();
    return;
  }
  if (request_->http11) {
    std::string chunk;
    chunk.reserve(events.size() + 16);
    append_chunk(events, chunk);
    transport_->send(chunk);
  } else {
    transport_->send(events);
  }
  transport_->set_deadline(core_->options.sse_keep_alive);
}

void HttpProtocol::end_stream() {
  if (transport_ == nullptr) {
    return;
  }
  exchange_.reset();
  phase_ = Phase::kSending;
  if (request_->http11) {
    transport_->send("0\r\n\r\n");
  } else if (transport_->unsent_bytes() == 0) {
    on_sent();
  }
}

void HttpProtocol::abort() {
  if (transport_ != nullptr) {
    forget_exchange(500, "the answer could not be completed");
    phase_ = Phase::kClosed;
    transport_->close();
  }
}

void HttpProtocol::on_sent() {
  if (phase_ != Phase::kSending) {
    return;
  }
  if (!keep_alive_) {
    transport_->finish();
    return;
  }
  next_request();
}

void HttpProtocol::next_request() {
  phase_ = Phase::kReading;
  request_.reset();
  request_id_.clear();
  route_ = nullptr;
  if (core_->draining) {
    transport_->finish();
    return;
  }
  transport_->set_deadline(core_->options.idle_timeout);
}

}  // namespace deltaserve
