// The memory nodes and cores of other machines, as sysfs trees describe them.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "backends/cpu/numa_topology.h"

namespace deltaserve {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int32_t>;

// A directory with the files of a machine.
class MachineFiles {
 public:
  explicit MachineFiles(const std::map<std::string, std::string>& files)
      : root_(fs::temp_directory_path() / ("placement_test_" + std::to_string(getpid()))) {
    for (const auto& [path, text] : files) {
      fs::create_directories((root_ / path).parent_path());
      std::ofstream(root_ / path) << text << '\n';
    }
  }
  MachineFiles(const MachineFiles&) = delete;
  ~MachineFiles() { fs::remove_all(root_); }

  Result<NumaTopology> read() const { return read_numa_topology(root_); }

 private:
  fs::path root_;
};

const std::string kNode = "sys/devices/system/node/";
const std::string kCpu = "sys/devices/system/cpu/";

std::string status(const std::string& cpus, const std::string& memory) {
  return "Name:\tserver\nCpus_allowed:\tff\nCpus_allowed_list:\t" + cpus +
         "\nMems_allowed:\t3\nMems_allowed_list:\t" + memory;
}

// Two sockets of four cores with two hardware threads: CPU c and c + 8 are one core.
std::map<std::string, std::string> two_sockets() {
  std::map<std::string, std::string> files = {
      {kNode + "online", "0-1"},
      {kNode + "has_memory", "0-1"},
      {kNode + "node0/cpulist", "0-3,8-11"},
      {kNode + "node1/cpulist", "4-7,12-15"},
      {kNode + "node0/distance", "10 21"},
      {kNode + "node1/distance", "21 10"},
      {kCpu + "online", "0-15"},
      {"proc/self/status", status("0-15", "0-1")},
  };
  for (int cpu = 0; cpu < 16; ++cpu) {
    files[kCpu + "cpu" + std::to_string(cpu) + "/topology/thread_siblings_list"] =
        std::to_string(cpu % 8) + "," + std::to_string(cpu % 8 + 8);
  }
  return files;
}

TEST(IdList, ReadsAndWritesWhatLinuxWrites) {
  EXPECT_EQ(parse_id_list("0-3,8,10-11").value(), (Ids{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_TRUE(parse_id_list("").value().empty());
  EXPECT_EQ(format_id_list({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(format_id_list({}), "");
  for (const char* text :
       {"a", "1-", "3-1", "1,", ",1", "-1", "1 2", "0-99999999", "99999999999"}) {
    EXPECT_FALSE(parse_id_list(text).has_value()) << text;
  }
}

TEST(NumaTopology, TwoSocketsWithHardwareThreads) {
  const NumaTopology topology = MachineFiles(two_sockets()).read().value();
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(topology.nodes[1].id, 1);
  EXPECT_EQ(topology.nodes[1].cores, (std::vector<Ids>{{4, 12}, {5, 13}, {6, 14}, {7, 15}}));
}

TEST(NumaTopology, KeepsToAffinityAndOnlineCpus) {
  auto files = two_sockets();
  files[kCpu + "online"] = "0-12,14-15";
  files["proc/self/status"] = status("2-5,13-15", "0-1");
  const NumaTopology topology = MachineFiles(files).read().value();
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(topology.nodes[0].cores, (std::vector<Ids>{{2}, {3}}));
  EXPECT_EQ(topology.nodes[1].cores, (std::vector<Ids>{{4}, {5}, {14}, {15}}));
}

// A cpuset with the memory of one node: its cores are all beside that.
TEST(NumaTopology, ForbiddenMemoryLendsItsCores) {
  auto files = two_sockets();
  files["proc/self/status"] = status("0-15", "1");
  const NumaTopology topology = MachineFiles(files).read().value();
  ASSERT_EQ(topology.nodes.size(), 1U);
  EXPECT_EQ(topology.nodes[0].id, 1);
  EXPECT_EQ(topology.nodes[0].cores.size(), 8U);
}

// Four nodes in two pairs; nodes 1 and 2 have no memory, node 5 has memory and no cores.
TEST(NumaTopology, MemorylessNodesGoToTheNearest) {
  const NumaTopology topology = MachineFiles({
                                                 {kNode + "online", "0-3,5"},
                                                 {kNode + "has_memory", "0,3,5"},
                                                 {kNode + "node0/cpulist", "0-1"},
                                                 {kNode + "node1/cpulist", "2-3"},
                                                 {kNode + "node2/cpulist", "4-5"},
                                                 {kNode + "node3/cpulist", "6-7"},
                                                 {kNode + "node5/cpulist", ""},
                                                 {kNode + "node1/distance", "12 10 32 32 40"},
                                                 {kNode + "node2/distance", "32 32 10 12 40"},
                                                 {kCpu + "online", "0-7"},
                                                 {"proc/self/status", status("0-7", "0-7")},
                                             })
                                    .read()
                                    .value();
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(topology.nodes[0].cores, (std::vector<Ids>{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(topology.nodes[1].id, 3);
  EXPECT_EQ(topology.nodes[1].cores, (std::vector<Ids>{{4}, {5}, {6}, {7}}));
}

TEST(NumaTopology, KernelsWithoutNodesAndBrokenFiles) {
  std::map<std::string, std::string> files = {{"proc/self/status", "Name:\tx"}};
  EXPECT_TRUE(MachineFiles(files).read().value().nodes.empty());
  files = two_sockets();
  files[kNode + "node1/cpulist"] = "4-";
  const auto broken = MachineFiles(files).read();
  ASSERT_FALSE(broken.has_value());
  EXPECT_NE(broken.error().message.find("node1/cpulist: '4-'"), std::string::npos)
      << broken.error().message;
  files = two_sockets();
  files["proc/self/status"] = "Name:\tx";
  EXPECT_FALSE(MachineFiles(files).read().has_value());
  files = two_sockets();
  files[kNode + "has_memory"] = "0";
  files[kNode + "node1/distance"] = "";
  EXPECT_FALSE(MachineFiles(files).read().has_value());
}

TEST(NumaTopology, OfThisMachineHasTheCallersCore) {
  const NumaTopology topology = read_numa_topology().value();
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  for (const NumaNode& node : topology.nodes) {
    for (const Ids& core : node.cores) {
      for (const int32_t cpu : core) {
        EXPECT_TRUE(CPU_ISSET(static_cast<size_t>(cpu), &allowed)) << cpu;
      }
    }
  }
}

}  // namespace
}  // namespace deltaserve
