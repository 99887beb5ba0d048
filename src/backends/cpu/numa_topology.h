// The machine's memory nodes as Linux lists them in sysfs, within what the process may use: cores
// of its affinity and cpuset, memory of its cpuset. A node whose own memory is missing or forbidden
// lends its cores to the nearest node that has some.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace deltaserve {

struct NumaNode {
  int32_t id = 0;
  // The usable cores by their usable CPUs, hardware threads of one core together; ascending.
  std::vector<std::vector<int32_t>> cores;
};

struct NumaTopology {
  std::vector<NumaNode> nodes;  // with memory and cores, ascending; none if Linux lists none
};

// Reads `root`/sys/devices/system/{node,cpu} and `root`/proc/self/status.
// Errors: a file there that is not what Linux writes.
Result<NumaTopology> read_numa_topology(const std::filesystem::path& root = "/");

// "0-3,8" as its numbers, in that order. Error: anything else.
Result<std::vector<int32_t>> parse_id_list(std::string_view text);
// Ascending numbers as such a list.
std::string format_id_list(const std::vector<int32_t>& ids);

}  // namespace deltaserve
