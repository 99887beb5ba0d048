// Random ids from the system's own source: no state to share or to seed.
#include "api/request_id.h"

#include <fmt/format.h>

#include <chrono>
#include <random>

namespace deltaserve {

std::string make_request_id(std::string_view prefix) {
  std::random_device source;
  return fmt::format("{}{:08x}{:08x}{:08x}{:08x}", prefix, source(), source(), source(), source());
}

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace deltaserve
