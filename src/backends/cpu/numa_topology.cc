#include "backends/cpu/numa_topology.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>

namespace deltaserve {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int32_t>;

// More CPUs or nodes than any Linux counts; keeps a broken list from filling memory.
constexpr int32_t kMaxId = 65535;

std::optional<std::string> read_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!file) return std::nullopt;
  std::getline(file, line);
  return line;
}

Result<Ids> read_list(const fs::path& path) {
  const std::optional<std::string> line = read_line(path);
  if (!line) return invalid(fmt::format("{} cannot be read", path.string()));
  Result<Ids> ids = parse_id_list(*line);
  if (!ids) return invalid(fmt::format("{}: {}", path.string(), ids.error().message));
  return ids;
}

// The list behind `key` in /proc/self/status.
Result<Ids> read_status_list(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const size_t first = line.find_first_not_of(" \t", key.size());
    Result<Ids> ids = parse_id_list(first == std::string::npos ? "" : line.substr(first));
    if (!ids) return invalid(fmt::format("{}: {}", path.string(), ids.error().message));
    return ids;
  }
  return invalid(fmt::format("{} has no line {}", path.string(), key));
}

Ids intersect(Ids a, Ids b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  Ids both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

bool contains(const Ids& ids, int32_t id) {
  return std::ranges::find(ids, id) != ids.end();
}

// The node of `memory` that `node` reaches fastest: `distance` has a number for each online node.
Result<int32_t> nearest(const fs::path& nodes, int32_t node, const Ids& online, const Ids& memory) {
  const fs::path path = nodes / fmt::format("node{}", node) / "distance";
  std::istringstream line(read_line(path).value_or(""));
  int32_t best = memory.front();
  int32_t least = std::numeric_limits<int32_t>::max();
  for (const int32_t other : online) {
    int32_t distance = 0;
    if (!(line >> distance)) {
      return invalid(fmt::format("{} has no distance to node {}", path.string(), other));
    }
    if (contains(memory, other) && distance < least) {
      least = distance;
      best = other;
    }
  }
  return best;
}

// `cpus` by core.
std::vector<Ids> group_by_core(const fs::path& cpu_directory, const Ids& cpus) {
  std::vector<Ids> cores;
  std::set<int32_t> seen;
  for (const int32_t cpu : cpus) {
    if (seen.contains(cpu)) continue;
    const Result<Ids> siblings =
        read_list(cpu_directory / fmt::format("cpu{}", cpu) / "topology" / "thread_siblings_list");
    // Virtual machines may tell nothing of cores: each CPU is one then.
    Ids core = siblings ? intersect(*siblings, cpus) : Ids{};
    if (!contains(core, cpu)) core = {cpu};
    seen.insert(core.begin(), core.end());
    cores.push_back(std::move(core));
  }
  return cores;
}

}  // namespace

Result<Ids> parse_id_list(std::string_view text) {
  Ids ids;
  const char* at = text.data();
  const char* end = at + text.size();
  const auto number = [&](int32_t& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    at = next;
    return error == std::errc() && value >= 0 && value <= kMaxId;
  };
  while (at != end) {
    int32_t first = 0;
    bool good = number(first);
    int32_t last = first;
    if (good && at != end && *at == '-') {
      ++at;
      good = number(last) && last >= first;
    }
    if (good && at != end) {
      good = *at++ == ',' && at != end;
    }
    if (!good) return invalid(fmt::format("'{}' is no list of numbers", text));
    for (int32_t id = first; id <= last; ++id) ids.push_back(id);
  }
  return ids;
}

std::string format_id_list(const Ids& ids) {
  std::string text;
  for (size_t i = 0; i < ids.size();) {
    size_t end = i + 1;
    while (end < ids.size() && ids[end] == ids[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += end - i == 1 ? fmt::format("{}", ids[i]) : fmt::format("{}-{}", ids[i], ids[end - 1]);
    i = end;
  }
  return text;
}

Result<NumaTopology> read_numa_topology(const fs::path& root) {
  const fs::path nodes = root / "sys/devices/system/node";
  const fs::path cpus = root / "sys/devices/system/cpu";
  const fs::path status = root / "proc/self/status";
  std::error_code ignored;
  if (!fs::exists(nodes / "online", ignored)) return NumaTopology{};
  const Result<Ids> online = read_list(nodes / "online");
  if (!online) return std::unexpected(online.error());
  const Result<Ids> with_memory = read_list(nodes / "has_memory");
  if (!with_memory) return std::unexpected(with_memory.error());
  const Result<Ids> online_cpus = read_list(cpus / "online");
  if (!online_cpus) return std::unexpected(online_cpus.error());
  const Result<Ids> allowed_cpus = read_status_list(status, "Cpus_allowed_list:");
  if (!allowed_cpus) return std::unexpected(allowed_cpus.error());
  const Result<Ids> allowed_memory = read_status_list(status, "Mems_allowed_list:");
  if (!allowed_memory) return std::unexpected(allowed_memory.error());
  const Ids memory = intersect(*with_memory, *allowed_memory);
  const Ids usable = intersect(*online_cpus, *allowed_cpus);
  if (memory.empty()) return NumaTopology{};

  std::map<int32_t, Ids> cpus_of;  // by the node whose memory they use
  for (const int32_t node : *online) {
    const Result<Ids> list = read_list(nodes / fmt::format("node{}", node) / "cpulist");
    if (!list) return std::unexpected(list.error());
    const Ids own = intersect(*list, usable);
    if (own.empty()) continue;
    const Result<int32_t> home =
        contains(memory, node) ? node : nearest(nodes, node, *online, memory);
    if (!home) return std::unexpected(home.error());
    Ids& all = cpus_of[*home];
    all.insert(all.end(), own.begin(), own.end());
  }
  NumaTopology topology;
  for (auto& [node, list] : cpus_of) {
    std::ranges::sort(list);
    topology.nodes.push_back({.id = node, .cores = group_by_core(cpus, list)});
  }
  return topology;
}

}  // namespace deltaserve
