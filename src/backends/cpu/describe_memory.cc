#include "backends/cpu/describe_memory.h"

#include <fstream>

#include <fmt/format.h>

#include "backends/cpu/numa_memory.h"
#include "backends/cpu/thread_placement.h"

namespace deltaserve {
namespace {

std::string describe_nodes(const NumaTopology& topology) {
  std::string text;
  for (const NumaNode& node : topology.nodes) {
    std::vector<int32_t> first;
    first.reserve(node.cores.size());
    for (const std::vector<int32_t>& core : node.cores) {
      first.push_back(core.front());
    }
    text += fmt::format("{}node {} with {} cores ({})", text.empty() ? "" : ", ", node.id,
                        node.cores.size(), format_id_list(first));
  }
  return text.empty() ? "not listed by this kernel" : text;
}

std::string describe_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(file, text);
  if (text.find("[always]") != std::string::npos || text.find("[madvise]") != std::string::npos) {
    return "2 MiB, asked for by weights and caches";
  }
  return "off in this kernel (transparent_hugepage/enabled): decoding is slower";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> describe_cpu_memory(const CpuOptions& options) {
  std::vector<std::pair<std::string, std::string>> lines;
  const Result<NumaTopology> topology = read_numa_topology();
  lines.emplace_back("memory nodes",
                     topology ? describe_nodes(*topology) : topology.error().message);
  const Result<ThreadPlacement> placement = cpu_placement(options);
  lines.emplace_back("placement",
                     placement ? describe_placement(*placement) : placement.error().message);
  if (placement && placement->active()) {
    const Result<void> policy = check_memory_policy();
    lines.emplace_back("memory policy",
                       policy ? "weights on the nodes of their threads, caches on all in turn"
                              : policy.error().message + ": pages lie where first written");
  }
  lines.emplace_back("large pages", describe_huge_pages());
  return lines;
}

}  // namespace deltaserve
