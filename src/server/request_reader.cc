// RequestReader: the header through Beast, then the body by its length or its chunks.
#include "server/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <cctype>
#include <utility>

#include "base/check.h"

// An assertion of Beast's about what a peer sent must end the request, not the process.
void boost::assertion_failed(const char* expression, const char* /*function*/, const char* file,
                             long line) {
  deltaserve::throw_invariant(expression, file, static_cast<int>(line), "");
}

namespace deltaserve {

namespace http = boost::beast::http;

struct RequestReader::Parser : http::request_parser<http::empty_body> {
  explicit Parser(const Limits& limits) {
    header_limit(static_cast<std::uint32_t>(limits.max_header_bytes));
    skip(true);  // done when the header is
  }
};

namespace {

// Of an announced body: memory is given for what has come, not for what was promised.
constexpr uint64_t kMaxReserved = uint64_t{1} << 20;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

RequestReader::RequestReader(const Limits& limits)
    : limits_(limits), parser_(std::make_unique<Parser>(limits)) {}

RequestReader::~RequestReader() = default;

RequestReader::Event RequestReader::fail(int status, std::string message) {
  status_ = status;
  message_ = std::move(message);
  return Event::kError;
}

RequestReader::Event RequestReader::fail_too_large() {
  return fail(413, fmt::format("The request body is larger than this server accepts ({} bytes).",
                               limits_.max_body_bytes));
}

RequestReader::Event RequestReader::feed(std::string& input) {
  if (status_ != 0) {
    return Event::kError;
  }
  return header_done_ ? feed_body(input) : feed_header(input);
}

RequestReader::Event RequestReader::feed_header(std::string& input) {
  if (!started_) {
    // Empty lines between requests are allowed (RFC 9112, 2.2).
    input.erase(0, std::min(input.find_first_not_of("\r\n"), input.size()));
  }
  while (!parser_->is_done()) {
    if (input.empty()) {
      return Event::kNeedMore;
    }
    started_ = true;
    boost::beast::error_code error;
    size_t used = 0;
    try {
      used = parser_->put(boost::asio::buffer(input), error);
    } catch (const InvariantError&) {
      return fail(400, "The request is not valid HTTP.");
    }
    input.erase(0, used);
    if (error == http::error::need_more) {
      return Event::kNeedMore;
    }
    if (error) {
      copy_header();  // as far as it goes: the answer to an error depends on Origin too
    }
    if (error == http::error::header_limit) {
      return fail(431, "The request header is too large.");
    }
    if (error) {
      return fail(400, "The request is not valid HTTP: " + error.message() + ".");
    }
  }
  return read_header();
}

void RequestReader::copy_header() {
  const auto& message = parser_->get();
  request_.method = std::string(message.method_string());
  request_.path = path_of_target(message.target());
  request_.http11 = message.version() >= 11;
  request_.keep_alive = message.keep_alive();
  request_.headers.clear();
  for (const auto& field : message) {
    request_.headers.emplace_back(lower(field.name_string()), std::string(field.value()));
  }
}

RequestReader::Event RequestReader::read_header() {
  header_done_ = true;
  copy_header();
  if (const auto length = parser_->content_length()) {
    content_length_ = *length;
  }
  const std::string coding = lower(request_.header("transfer-encoding"));
  if (!coding.empty() && !request_.http11) {
    return fail(400, "HTTP/1.0 has no transfer encodings: send a Content-Length.");
  }
  if (coding == "chunked") {
    chunks_.emplace();
  } else if (!coding.empty()) {
    return fail(501, "Only the transfer encoding 'chunked' is supported.");
  }
  const auto is_host = [](const auto& field) { return field.first == "host"; };
  const auto num_hosts = std::ranges::count_if(request_.headers, is_host);
  if (num_hosts > 1 || (request_.http11 && request_.header("host").empty())) {
    return fail(400, "The request must have one Host header.");
  }
  const std::string expect = lower(request_.header("expect"));
  if (!expect.empty() && expect != "100-continue") {
    return fail(417, "Only 'Expect: 100-continue' is supported.");
  }
  const bool has_body = chunks_ || content_length_.value_or(0) > 0;
  expects_continue_ = !expect.empty() && request_.http11 && has_body;
  return Event::kHeader;
}

RequestReader::Event RequestReader::feed_body(std::string& input) {
  std::string& body = request_.body;
  if (chunks_) {
    std::string_view rest = input;
    const ChunkedBody::Event event = chunks_->feed(rest, body, limits_.max_body_bytes);
    input.erase(0, input.size() - rest.size());
    switch (event) {
      case ChunkedBody::Event::kNeedMore:
        return Event::kNeedMore;
      case ChunkedBody::Event::kComplete:
        return Event::kComplete;
      case ChunkedBody::Event::kInvalid:
        return fail(400, "The request body's chunks are not valid HTTP.");
      case ChunkedBody::Event::kTooLarge:
        return fail_too_large();
    }
  }
  const uint64_t length = content_length_.value_or(0);
  if (length > limits_.max_body_bytes) {
    return fail_too_large();
  }
  if (body.empty()) {
    body.reserve(std::min<uint64_t>(length, kMaxReserved));
  }
  const size_t size = std::min(input.size(), static_cast<size_t>(length) - body.size());
  body.append(input, 0, size);
  input.erase(0, size);
  return body.size() == length ? Event::kComplete : Event::kNeedMore;
}

HttpRequest RequestReader::take() {
  HttpRequest request = std::exchange(request_, {});
  parser_ = std::make_unique<Parser>(limits_);
  started_ = false;
  header_done_ = false;
  expects_continue_ = false;
  content_length_.reset();
  chunks_.reset();
  return request;
}

}  // namespace deltaserve
