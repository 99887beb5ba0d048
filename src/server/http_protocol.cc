// HttpProtocol: reading requests and finding who answers them. What goes out is in
// http_protocol_send.cc.
#include "server/http_protocol.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "server/client_request_id.h"
#include "server/request_log.h"

namespace deltaserve {
namespace {

// A refused request's body up to this size is read to its end, so that the connection can be kept.
constexpr size_t kMaxSkippedBody = size_t{1} << 20;

bool is_text(std::string_view content_type) {
  constexpr std::string_view kText = "text/";
  return content_type.size() >= kText.size() &&
         std::equal(kText.begin(), kText.end(), content_type.begin(), [](char want, char got) {
           return want == static_cast<char>(std::tolower(static_cast<unsigned char>(got)));
         });
}

template <typename Handle>
auto guarded(const std::string& request_id, Handle handle) -> decltype(handle()) {
  try {
    return handle();
  } catch (const std::exception& error) {
    spdlog::error("the handler of request id={} failed: {}", request_id, error.what());
    return fail(ErrorCode::kInternal, "The server failed on this request.");
  }
}

}  // namespace

HttpProtocol::HttpProtocol(ServerCore& core, Transport& transport, size_t io_index)
    : core_(&core),
      transport_(&transport),
      io_index_(io_index),
      reader_({core.options.max_header_bytes, core.options.max_body_bytes}),
      body_share_(core.body_budget) {}

void HttpProtocol::on_bytes(std::string& input) {
  while (phase_ == Phase::kReading) {
    const bool first_byte = !reader_.started();
    const RequestReader::Event event = reader_.feed(input);
    if (first_byte && reader_.started()) {
      request_start_ = Clock::now();
    }
    if (!take_body_share()) {
      respond_and_close(
          error({ErrorCode::kUnavailable,
                 "The server is reading too many large requests: try again.", "", ""}));
      return;
    }
    switch (event) {
      case RequestReader::Event::kNeedMore:
        set_reading_deadline();
        return;
      case RequestReader::Event::kHeader:
        on_header();
        break;
      case RequestReader::Event::kComplete:
        on_request();
        break;
      case RequestReader::Event::kError:
        respond_and_close(reader_error(reader_.status(), reader_.message()));
        return;
    }
  }
}

bool HttpProtocol::take_body_share() {
  return body_share_.grow_to(reader_.body_bytes());
}

void HttpProtocol::set_reading_deadline() {
  if (!reader_.started()) {
    return;  // the idle deadline runs
  }
  auto limit = core_->options.header_timeout;
  if (reader_.header_done()) {
    const auto earned = std::chrono::seconds(reader_.body_bytes() / core_->options.min_body_rate);
    limit = core_->options.body_timeout + earned;
  }
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(request_start_ + limit - Clock::now());
  transport_->set_deadline(std::max(left, std::chrono::milliseconds(1)));
}

void HttpProtocol::on_header() {
  request_start_ = Clock::now();
  request_id_ = choose_request_id(reader_.request().header("x-request-id"));
  refusal_ = check_header();
  if (!refusal_) {
    if (reader_.expects_continue()) {
      transport_->send("HTTP/1.1 100 Continue\r\n\r\n");
    }
    return;
  }
  const bool small = reader_.content_length().value_or(0) <= kMaxSkippedBody &&
                     reader_.request().header("transfer-encoding").empty();
  if (reader_.expects_continue() || !small) {
    respond_and_close(*std::exchange(refusal_, std::nullopt));
  }
}

std::optional<HttpResponse> HttpProtocol::check_header() {
  const HttpRequest& request = reader_.request();
  route_ = nullptr;
  if (request.method == "OPTIONS") {
    return core_->cors.preflight(request);
  }
  Error not_found;
  std::string allow;
  route_ = core_->router.find(request.method, request.path, not_found, allow);
  const bool open = route_ != nullptr && route_->open;
  if (!open &&
      !core_->authenticator.allows(request.header("authorization"), request.header("x-api-key"))) {
    return error({ErrorCode::kUnauthorized,
                  "Give a valid API key in the header 'Authorization: Bearer KEY'.", "",
                  "invalid_api_key"});
  }
  if (route_ == nullptr) {
    HttpResponse response = error(not_found);
    if (!allow.empty()) {
      response.headers.emplace_back("Allow", allow);
    }
    return response;
  }
  return check_body();
}

std::optional<HttpResponse> HttpProtocol::check_body() const {
  const HttpRequest& request = reader_.request();
  const uint64_t length = reader_.content_length().value_or(0);
  if (length > core_->options.max_body_bytes) {
    return error({ErrorCode::kPayloadTooLarge,
                  "The request body is larger than this server accepts (" +
                      std::to_string(core_->options.max_body_bytes) + " bytes).",
                  "", ""});
  }
  if (!core_->body_budget.has_room_for(length)) {
    return error({ErrorCode::kUnavailable,
                  "The server is reading too many large requests: try again.", "", ""});
  }
  if (request.method != "POST") {
    return std::nullopt;
  }
  if (is_text(request.header("content-type"))) {
    return error({ErrorCode::kUnsupportedMediaType,
                  "Send JSON with 'Content-Type: application/json'.", "", ""});
  }
  const std::string_view encoding = request.header("content-encoding");
  if (!encoding.empty() && encoding != "identity") {
    return error(
        {ErrorCode::kUnsupportedMediaType, "Compressed request bodies are not supported.", "", ""});
  }
  return std::nullopt;
}

void HttpProtocol::on_request() {
  phase_ = Phase::kHandling;
  arrival_ = Clock::now();
  transport_->set_deadline(core_->options.sse_keep_alive);
  request_ = std::make_shared<HttpRequest>(reader_.take());
  request_->body_share = std::exchange(body_share_, ByteBudget::Share(core_->body_budget));
  keep_alive_ = request_->keep_alive && !core_->draining;
  cancelled_ = std::make_shared<std::atomic<bool>>(false);
  if (refusal_) {
    respond(*std::exchange(refusal_, std::nullopt));
    return;
  }
  if (core_->draining) {
    respond(error({ErrorCode::kUnavailable, "The server is shutting down.", "", ""}));
    return;
  }
  if (route_->on_worker) {
    run_on_worker();
    return;
  }
  Result<HttpResponse> response =
      guarded(request_id_, [this] { return route_->handler(*request_); });
  respond(response ? *std::move(response) : error(response.error()));
}

// The worker owns a share of the request and only a weak hold of this: the client may leave.
void HttpProtocol::run_on_worker() {
  auto job = [weak = weak_from_this(), core = core_, io_index = io_index_, route = route_,
              id = request_id_, request = request_, cancelled = cancelled_] {
    if (*cancelled) {
      return;
    }
    if (route->generation) {
      auto prepared = guarded(id, [&] { return route->generation(*request); });
      core->io.post(io_index, [weak, cancelled, prepared = std::move(prepared)]() mutable {
        if (const auto self = weak.lock(); self && !*cancelled) {
          self->on_prepared(std::move(prepared));
        }
      });
      return;
    }
    auto response = guarded(id, [&] { return route->handler(*request); });
    core->io.post(io_index, [weak, cancelled, response = std::move(response)]() mutable {
      if (const auto self = weak.lock(); self && !*cancelled) {
        self->respond(response ? *std::move(response) : self->error(response.error()));
      }
    });
  };
  if (!core_->workers.post(std::move(job))) {
    respond(error({ErrorCode::kTooManyRequests,
                   "Too many requests are waiting to be read: try again.", "", ""}));
  }
}

void HttpProtocol::on_prepared(Result<ApiService::Prepared> prepared) {
  request_->body = {};
  request_->body_share.release();
  if (!prepared) {
    respond(error(prepared.error()));
    return;
  }
  if (!prepared->job.remark.empty() && core_->options.log_requests) {
    log_remark(request_id_, prepared->job.remark);
  }
  try {
    const std::string tenant = core_->authenticator.tenant(request_->header("authorization"),
                                                           request_->header("x-api-key"));
    for (Request& request : prepared->job.requests) {
      request.tenant = tenant;
    }
    exchange_ = std::make_shared<GenerationExchange>(
        *core_, *this, GenerationOrigin{io_index_, request_id_, route_->path, arrival_},
        *std::move(prepared));
    // Held here as well: a refusal ends the exchange while start() runs.
    const std::shared_ptr<GenerationExchange> exchange = exchange_;
    exchange->start();
  } catch (const std::exception& failure) {
    spdlog::error("request id={} could not be started: {}", request_id_, failure.what());
    forget_exchange(500, failure.what());
    if (phase_ == Phase::kHandling) {
      respond(error({ErrorCode::kInternal, "The server failed on this request.", "", ""}));
    }
  }
}

bool HttpProtocol::on_peer_closed() {
  if (phase_ == Phase::kHandling || phase_ == Phase::kStreaming) {
    on_gone(kClientClosedRequest, "the client closed the connection");
    return false;
  }
  return phase_ == Phase::kSending;
}

void HttpProtocol::on_closed() {
  if (phase_ == Phase::kHandling || phase_ == Phase::kStreaming) {
    if (core_->draining) {
      on_gone(503, "the server is stopping");
    } else {
      on_gone(kClientClosedRequest, "the connection was lost");
    }
  }
  phase_ = Phase::kClosed;
  transport_ = nullptr;
}

void HttpProtocol::on_gone(int status, std::string_view reason) {
  if (phase_ == Phase::kHandling) {
    count_response(status);
  }
  if (!exchange_ && core_->options.log_requests) {
    log_refusal(request_id_, request_->method, request_->path, status, reason);
  }
  forget_exchange(status, reason);
  // Behind the abort: who sees the count may rely on it.
  if (status == kClientClosedRequest) {
    core_->metrics.record_disconnect();
  }
  phase_ = Phase::kClosed;
}

void HttpProtocol::forget_exchange(int status, std::string_view reason) {
  if (cancelled_) {
    *cancelled_ = true;
  }
  if (exchange_) {
    std::exchange(exchange_, nullptr)->cancel(status, reason);
  }
}

void HttpProtocol::on_deadline() {
  switch (phase_) {
    case Phase::kReading:
      if (reader_.started()) {
        respond_and_close(reader_error(408, "The request took too long to arrive."));
      } else {
        transport_->close();
      }
      return;
    case Phase::kHandling:
    case Phase::kStreaming:
      transport_->set_deadline(core_->options.sse_keep_alive);
      if (const auto exchange = exchange_) {
        exchange->keep_alive();
      }
      return;
    case Phase::kSending:
    case Phase::kClosed:
      return;
  }
}

void HttpProtocol::drain() {
  keep_alive_ = false;
  if (phase_ == Phase::kReading && !reader_.started()) {
    transport_->close();  // idle: nothing is on its way
  }
}

}  // namespace deltaserve
