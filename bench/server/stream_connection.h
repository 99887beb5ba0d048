// One streaming chat request over a plain socket, and when its events came. It looks for the marks
// of server-sent events only, so that the client costs less than the server that it measures.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deltaserve::bench {

using Clock = std::chrono::steady_clock;

class StreamConnection {
 public:
  explicit StreamConnection(uint16_t port);  // connects; throws if it cannot
  ~StreamConnection();
  StreamConnection(const StreamConnection&) = delete;
  StreamConnection& operator=(const StreamConnection&) = delete;

  void send(std::string_view request);  // blocks until it is sent
  // Reads what is there. False at the end of the stream; throws if the answer is not a stream.
  bool read();

  int socket() const { return socket_; }
  int64_t num_events() const { return num_events_; }
  // As the answer's usage says; an event may carry the text of several.
  int64_t num_tokens() const { return num_tokens_; }
  int64_t num_bytes() const { return num_bytes_; }
  double first_seconds() const;  // from the request to its first token's event
  const std::vector<float>& gaps() const { return gaps_; }  // seconds between events

 private:
  void count(std::string_view bytes, Clock::time_point now);
  void read_usage(std::string_view bytes);

  int socket_ = -1;
  std::string carry_;  // the end of the last bytes, where a mark may have begun
  bool checked_status_ = false;
  bool done_ = false;
  Clock::time_point start_;
  Clock::time_point first_;
  Clock::time_point last_;
  int64_t num_events_ = 0;
  int64_t num_tokens_ = 0;
  std::string tail_;  // the last bytes, where usage stands
  int64_t num_bytes_ = 0;
  std::vector<float> gaps_;
};

}  // namespace deltaserve::bench
