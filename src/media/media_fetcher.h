// Fetches pictures and videos by http and https from hosts that the operator named, and from no
// other: a URL in a request must not become a way into the server's own network.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace deltaserve {

struct FetchOptions {
  std::vector<std::string> allowed_hosts;  // exact names, or "*.example.org" for all below one
  size_t max_bytes = size_t{32} << 20;
  // Of one answer. A worker thread waits all that time: what takes longer is better sent in the
  // request.
  std::chrono::milliseconds timeout{10'000};
  std::string noun = "image";  // what errors call it
};

class MediaFetcher {
 public:
  explicit MediaFetcher(FetchOptions options);

  // Hosts are compared before any connection or name lookup; a name that leads to a private,
  // loopback or link-local address is refused before connecting, unless the address itself is on
  // the list. Redirects are followed to the same list of hosts, thrice at most; proxies of the
  // environment are not used. Errors: kInvalidArgument.
  Result<std::vector<uint8_t>> fetch(std::string_view url) const;
  const FetchOptions& options() const { return options_; }

 private:
  struct Answer {
    std::vector<uint8_t> body;
    std::optional<std::string> redirect;  // where to, instead of a body
  };
  Result<Answer> get(const std::string& url) const;  // one request, no redirect followed
  bool is_allowed(std::string_view host) const;

  FetchOptions options_;
};

}  // namespace deltaserve
