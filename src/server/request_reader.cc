// RequestReader over Beast: the header first, without looking into the body, so that a request can
// be refused before its body is read.
#include "server/request_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/check.h"

// Beast asserts in the parser about what a peer sent (a short trailer, for one): that must end the
// request, not the process.
void boost::assertion_failed(const char* expression, const char* /*function*/, const char* file,
                             long line) {
  deltaserve::throw_invariant(expression, file, static_cast<int>(line), "");
}

namespace deltaserve {

namespace http = boost::beast::http;

struct RequestReader::Parser : http::request_parser<http::string_body> {
  explicit Parser(const Limits& limits) {
    header_limit(static_cast<std::uint32_t>(limits.max_header_bytes));
    body_limit(limits.max_body_bytes);
    eager(false);
  }
};

namespace {

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

RequestReader::Event RequestReader::feed(std::string& input) {
  if (status_ != 0) {
    return Event::kError;
  }
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
      return fail(400, "The request body's chunks are not valid HTTP.");
    }
    input.erase(0, used);
    if (error == http::error::need_more) {
      return Event::kNeedMore;
    }
    if (error && !header_done_) {
      copy_header();  // as far as it goes: the answer to an error depends on Origin too
    }
    if (error == http::error::header_limit) {
      return fail(431, "The request header is too large.");
    }
    if (error == http::error::body_limit) {
      return fail(413, "The request body is larger than this server accepts (" +
                           std::to_string(limits_.max_body_bytes) + " bytes).");
    }
    if (error) {
      return fail(400, "The request is not valid HTTP: " + error.message() + ".");
    }
    if (!header_done_ && parser_->is_header_done()) {
      return read_header();
    }
  }
  if (!header_done_) {
    return read_header();
  }
  return Event::kComplete;
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
  parser_->eager(true);
  copy_header();
  if (const auto length = parser_->content_length()) {
    content_length_ = static_cast<size_t>(*length);
  }
  if (!request_.header("transfer-encoding").empty() && !parser_->chunked()) {
    return fail(501, "Only the transfer encoding 'chunked' is supported.");
  }
  if (request_.http11 && request_.header("host").empty()) {
    return fail(400, "The request has no Host header.");
  }
  const std::string expect = lower(request_.header("expect"));
  if (!expect.empty() && expect != "100-continue") {
    return fail(417, "Only 'Expect: 100-continue' is supported.");
  }
  expects_continue_ = !expect.empty() && request_.http11 && !parser_->is_done();
  return Event::kHeader;
}

size_t RequestReader::body_bytes() const {
  return parser_->get().body().size();
}

HttpRequest RequestReader::take() {
  HttpRequest request = std::exchange(request_, {});
  request.body = std::move(parser_->get().body());
  parser_ = std::make_unique<Parser>(limits_);
  started_ = false;
  header_done_ = false;
  expects_continue_ = false;
  content_length_.reset();
  return request;
}

}  // namespace deltaserve
