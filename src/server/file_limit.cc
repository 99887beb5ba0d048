// RLIMIT_NOFILE.
#include "server/file_limit.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>

namespace deltaserve {

void raise_file_limit(size_t num_connections) {
  constexpr rlim_t kOthers = 256;  // weights, logs, epoll and the listening socket
  const rlim_t wanted = static_cast<rlim_t>(num_connections) + kOthers;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
    return;
  }
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted) {
    spdlog::warn("{} connections are allowed, but only {} open files: raise `ulimit -n`",
                 num_connections, limit.rlim_cur);
  }
}

}  // namespace deltaserve
