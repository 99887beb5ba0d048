// A blocking client over a plain socket, for tests of what is on the wire.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace deltaserve {

// How long tests wait for what must come: only a failing test takes that long, on any machine.
inline constexpr std::chrono::seconds kPatience{60};

// Waits until `done` holds; false if it does not within kPatience.
bool wait_until(const std::function<bool()>& done);

struct RawResponse {
  int status = 0;                              // 0: the connection ended before a whole response
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined
};

class RawClient {
 public:
  explicit RawClient(uint16_t port);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void send(std::string_view bytes);  // as much as the peer takes; errors end it silently
  // Reads one response. `head_only`: of a HEAD request.
  RawResponse read_response(bool head_only = false);
  // Reads until `text` has been seen; "" if the connection ended before.
  std::string read_until(std::string_view text);
  // True if the peer closes within that time; what it sends meanwhile can still be read.
  bool closed_within(std::chrono::milliseconds time);
  bool closed() { return closed_within(kPatience); }
  void close();  // with what is unread: the peer may see a reset
  void reset();  // closes without goodbye
  void shutdown_write();
  void set_receive_buffer(int bytes);

 private:
  bool fill();  // reads more into buffer_; false at the end or after kPatience

  int socket_ = -1;
  std::string buffer_;
};

// A request with Host and, if there is a body, Content-Length; `headers` end in "\r\n" each.
std::string http_request(std::string_view method, std::string_view path, std::string_view body = "",
                         std::string_view headers = "");

}  // namespace deltaserve
