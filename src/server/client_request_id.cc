// Validates the id of a client.
#include "server/client_request_id.h"

#include <algorithm>

#include "api/request_id.h"

namespace deltaserve {

std::string choose_request_id(std::string_view wanted) {
  constexpr size_t kMaxLength = 128;
  const auto printable = [](char c) { return c > ' ' && c < '\x7F'; };
  if (!wanted.empty() && wanted.size() <= kMaxLength && std::ranges::all_of(wanted, printable)) {
    return std::string(wanted);
  }
  return make_request_id("req-");
}

}  // namespace deltaserve
