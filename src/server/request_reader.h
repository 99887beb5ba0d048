// Reads HTTP/1.1 requests out of a byte stream under limits. Beast's parser does the grammar of the
// header; it is kept out of this header because it is slow to compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/chunked_body.h"
#include "server/http_message.h"

namespace deltaserve {

class RequestReader {
 public:
  struct Limits {
    size_t max_header_bytes = size_t{64} << 10;
    size_t max_body_bytes = size_t{64} << 20;
  };
  enum class Event {
    kNeedMore,  // all of the input was used, or waits for the rest of the header
    kHeader,    // the header is complete: request() is valid but for its body
    kComplete,  // take() gives the request; what is left of the input belongs to the next one
    kError,     // status() and message() say why; the stream cannot be read on
  };

  explicit RequestReader(const Limits& limits);
  ~RequestReader();

  // Reads on from `input` and removes what was used of it. kHeader comes once per request.
  Event feed(std::string& input);

  const HttpRequest& request() const { return request_; }
  HttpRequest take();                        // and makes ready for the next request
  bool started() const { return started_; }  // a byte of the request has been seen
  bool header_done() const { return header_done_; }
  // After the header: the client waits for "100 Continue" before it sends the body.
  bool expects_continue() const { return expects_continue_; }
  // Of the header; none for a chunked body.
  std::optional<uint64_t> content_length() const { return content_length_; }
  size_t body_bytes() const { return request_.body.size(); }  // read so far

  int status() const { return status_; }
  const std::string& message() const { return message_; }

 private:
  struct Parser;

  Event feed_header(std::string& input);
  Event read_header();
  Event feed_body(std::string& input);
  void copy_header();
  Event fail(int status, std::string message);
  Event fail_too_large();

  Limits limits_;
  std::unique_ptr<Parser> parser_;  // of the header
  HttpRequest request_;
  bool started_ = false;
  bool header_done_ = false;
  bool expects_continue_ = false;
  std::optional<uint64_t> content_length_;
  std::optional<ChunkedBody> chunks_;
  int status_ = 0;
  std::string message_;
};

}  // namespace deltaserve
