#include "backends/cpu/thread_placement.h"

#include <fmt/format.h>

namespace deltaserve {
namespace {

// CPUs of a node in the order in which threads take them: one of every core, then the others.
std::vector<int32_t> cpus_in_order(const NumaNode& node) {
  std::vector<int32_t> cpus;
  bool more = true;
  for (size_t sibling = 0; more; ++sibling) {
    more = false;
    for (const std::vector<int32_t>& core : node.cores) {
      if (sibling < core.size()) {
        cpus.push_back(core[sibling]);
        more = true;
      }
    }
  }
  return cpus;
}

}  // namespace

int32_t ThreadPlacement::part_of(int32_t thread) const {
  for (size_t part = 1; part < nodes.size(); ++part) {
    if (thread < nodes[part].first_thread) {
      return static_cast<int32_t>(part) - 1;
    }
  }
  return num_parts() - 1;
}

IndexRange ThreadPlacement::share(int64_t count, int32_t part) const {
  if (!active()) {
    return {0, count};
  }
  const NodeShare& node = nodes[static_cast<size_t>(part)];
  return {count * node.first_thread / threads,
          count * (node.first_thread + node.num_threads) / threads};
}

IndexRange ThreadPlacement::thread_share(IndexRange of_part, int32_t thread) const {
  const NodeShare all{.num_threads = threads, .cpus = {}};
  const NodeShare& node = active() ? nodes[static_cast<size_t>(part_of(thread))] : all;
  const IndexRange share =
      split_range(of_part.end - of_part.begin, node.num_threads, thread - node.first_thread);
  return {of_part.begin + share.begin, of_part.begin + share.end};
}

ThreadPlacement plan_placement(const NumaTopology& topology, int32_t threads) {
  ThreadPlacement placement{.threads = threads, .nodes = {}};
  const auto none = [&](std::string why) {
    placement.nodes.clear();
    placement.why_none = std::move(why);
    return placement;
  };
  if (topology.nodes.size() < 2) {
    return none("one memory node");
  }
  if (topology.nodes.size() > size_t{kMaxPlacedNodes}) {
    return none(fmt::format("more than {} memory nodes", kMaxPlacedNodes));
  }
  int64_t cores = 0;
  int64_t cpus = 0;
  for (const NumaNode& node : topology.nodes) {
    cores += static_cast<int64_t>(node.cores.size());
    cpus += static_cast<int64_t>(cpus_in_order(node).size());
  }
  if (threads > cpus) {
    return none(fmt::format("{} threads for {} usable CPUs", threads, cpus));
  }
  const bool one_a_core = threads <= cores;
  const int64_t places = one_a_core ? cores : cpus;
  int64_t before = 0;  // places of the nodes so far
  int32_t first = 0;
  for (const NumaNode& node : topology.nodes) {
    std::vector<int32_t> own = cpus_in_order(node);
    before += static_cast<int64_t>(one_a_core ? node.cores.size() : own.size());
    // Rounded sums: a node's number differs from its exact share by less than one thread.
    const auto end = static_cast<int32_t>((2 * threads * before + places) / (2 * places));
    if (end > first) {
      own.resize(static_cast<size_t>(end - first));
      placement.nodes.push_back({.node = node.id,
                                 .first_thread = first,
                                 .num_threads = end - first,
                                 .cpus = std::move(own)});
    }
    first = end;
  }
  return placement.nodes.size() < 2 ? none("too few threads for two nodes") : placement;
}

Result<ThreadPlacement> cpu_placement(const CpuOptions& options) {
  const int32_t threads = options.threads > 0 ? options.threads : usable_cpu_count();
  if (!options.place_by_node) {
    return ThreadPlacement{.threads = threads, .nodes = {}, .why_none = "--numa off"};
  }
  const Result<NumaTopology> topology = read_numa_topology();
  if (!topology) {
    return invalid(fmt::format("memory nodes cannot be read ({}); --numa off goes without",
                               topology.error().message),
                   "numa");
  }
  return plan_placement(*topology, threads);
}

std::string describe_placement(const ThreadPlacement& placement) {
  if (!placement.active()) {
    return fmt::format("none ({})", placement.why_none);
  }
  std::string text;
  for (const NodeShare& node : placement.nodes) {
    std::vector<int32_t> cpus = node.cpus;
    text += fmt::format("{}{} threads on node {} (CPUs {})", text.empty() ? "" : ", ",
                        node.num_threads, node.node, format_id_list(cpus));
  }
  return text;
}

}  // namespace deltaserve
