// Every connection is a file descriptor, and shells allow a process far fewer of those by default
// than the system would.
#pragma once

#include <cstddef>

namespace deltaserve {

// Raises this process's limit as far as allowed, if it does not cover that many connections; says
// in the log if it still does not.
void raise_file_limit(size_t num_connections);

}  // namespace deltaserve
