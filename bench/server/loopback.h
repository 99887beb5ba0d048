// What the operating system asks for the same bytes: messages sent one by one over loopback
// sockets, without a server around them. No server can be cheaper than that.
#pragma once

#include <cstdint>

namespace deltaserve::bench {

struct LoopbackResult {
  double sender_cpu_us = 0.0;  // a message
  double messages_per_second = 0.0;
};

// `messages` of `bytes` each, round robin over `connections`; one thread sends, one receives.
LoopbackResult measure_loopback(int connections, int64_t messages, int64_t bytes);

}  // namespace deltaserve::bench
