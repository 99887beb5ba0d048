// Where compute threads and memory go: the plan for machines with several nodes, and what Linux
// says of pages and threads of this one.
#include <set>

#include <gtest/gtest.h>
#include <sched.h>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/memory.h"
#include "backends/cpu/node_tasks.h"
#include "backends/cpu/numa_memory.h"
#include "backends/cpu/numa_topology.h"
#include "backends/cpu/panel_matrix.h"
#include "backends/cpu/thread_binding.h"
#include "backends/cpu/thread_placement.h"
#include "cpu_test_util.h"
#include "placement_util.h"

namespace deltaserve {
namespace {

using Ids = std::vector<int32_t>;

NumaTopology topology_of(const std::vector<int32_t>& cores_of_nodes, int32_t hardware_threads) {
  NumaTopology topology;
  int32_t cpu = 0;
  for (size_t node = 0; node < cores_of_nodes.size(); ++node) {
    NumaNode one{.id = static_cast<int32_t>(node), .cores = {}};
    for (int32_t core = 0; core < cores_of_nodes[node]; ++core) {
      Ids cpus;
      for (int32_t i = 0; i < hardware_threads; ++i) cpus.push_back(cpu++);
      one.cores.push_back(cpus);
    }
    topology.nodes.push_back(one);
  }
  return topology;
}

TEST(ThreadPlacement, FillsNodesInTurnOneThreadACore) {
  const ThreadPlacement plan = plan_placement(topology_of({4, 4}, 2), 6);
  ASSERT_EQ(plan.nodes.size(), 2U);
  EXPECT_EQ(plan.nodes[0].cpus, (Ids{0, 2, 4}));
  EXPECT_EQ(plan.nodes[1].cpus, (Ids{8, 10, 12}));
  EXPECT_EQ(plan.nodes[1].first_thread, 3);
  EXPECT_EQ(plan.part_of(2), 0);
  EXPECT_EQ(plan.part_of(3), 1);
  EXPECT_EQ(describe_placement(plan),
            "3 threads on node 0 (CPUs 0,2,4), 3 threads on node 1 (CPUs 8,10,12)");
}

TEST(ThreadPlacement, SecondHardwareThreadsComeLast) {
  const ThreadPlacement plan = plan_placement(topology_of({2, 2}, 2), 6);
  ASSERT_EQ(plan.nodes.size(), 2U);
  EXPECT_EQ(plan.nodes[0].cpus, (Ids{0, 2, 1}));
  EXPECT_EQ(plan.nodes[1].cpus, (Ids{4, 6, 5}));
}

TEST(ThreadPlacement, NodesOfDifferentSize) {
  for (int32_t threads = 2; threads <= 13; ++threads) {
    const ThreadPlacement plan = plan_placement(topology_of({8, 1, 4}, 1), threads);
    ASSERT_TRUE(plan.active()) << threads;
    int32_t next = 0;
    std::set<int32_t> cpus;
    for (const NodeShare& node : plan.nodes) {
      EXPECT_EQ(node.first_thread, next);
      EXPECT_EQ(node.cpus.size(), static_cast<size_t>(node.num_threads));
      cpus.insert(node.cpus.begin(), node.cpus.end());
      next += node.num_threads;
    }
    EXPECT_EQ(next, threads);
    EXPECT_EQ(cpus.size(), static_cast<size_t>(threads)) << "no core twice";
  }
}

TEST(ThreadPlacement, SaysWhyNothingIsPlaced) {
  EXPECT_EQ(plan_placement(topology_of({8}, 1), 8).why_none, "one memory node");
  EXPECT_EQ(plan_placement(topology_of({2, 2}, 1), 5).why_none, "5 threads for 4 usable CPUs");
  EXPECT_EQ(plan_placement(topology_of({2, 2}, 1), 1).why_none, "too few threads for two nodes");
  EXPECT_EQ(plan_placement(topology_of(Ids(17, 1), 1), 17).why_none, "more than 16 memory nodes");
  EXPECT_EQ(cpu_placement({.threads = 3, .place_by_node = false}).value().why_none, "--numa off");
  EXPECT_FALSE(plan_placement({}, 4).active());
}

TEST(ThreadPlacement, SharesCoverEverythingOnce) {
  for (const ThreadPlacement& plan :
       {ThreadPlacement{.threads = 5, .nodes = {}}, same_node_twice(5), same_node_twice(2)}) {
    for (const int64_t count : {0, 1, 3, 32, 77}) {
      int64_t next = 0;
      for (int32_t part = 0; part < plan.num_parts(); ++part) {
        const IndexRange share = plan.share(count, part);
        EXPECT_EQ(share.begin, next);
        int64_t next_of_thread = share.begin;
        for (int32_t thread = 0; thread < plan.threads; ++thread) {
          if (plan.part_of(thread) != part) continue;
          const IndexRange own = plan.thread_share(share, thread);
          EXPECT_EQ(own.begin, next_of_thread);
          next_of_thread = own.end;
        }
        EXPECT_EQ(next_of_thread, share.end);
        next = share.end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(NodeTasks, EachTaskOnceAndOwnOnesFirst) {
  const ThreadPlacement plan = same_node_twice(4);
  NodeTasks tasks(plan, [](int32_t part) { return part == 0 ? 3 : 5; });
  std::vector<std::pair<int32_t, int64_t>> seen;
  tasks.run(3, [&](int32_t part, int64_t index) { seen.emplace_back(part, index); });
  ASSERT_EQ(seen.size(), 8U);
  EXPECT_EQ(seen.front(), (std::pair<int32_t, int64_t>(1, 0)));
  EXPECT_EQ(seen.back(), (std::pair<int32_t, int64_t>(0, 2)));
  tasks.run(0, [&](int32_t, int64_t) { ADD_FAILURE() << "nothing is left"; });
}

class NumaMemory : public testing::Test {
 protected:
  static constexpr size_t kBytes = size_t{8} << 20;

  // The nodes of some pages once they are written; what a container that forbids policies says
  // instead is checked too.
  static void expect_pages(std::byte* data, int32_t node) {
    const std::vector<std::byte*> pages = {data, data + kBytes / 4, data + kBytes - 4096};
    for (std::byte* address : pages) *address = std::byte{1};
    if (const Result<void> allowed = check_memory_policy(); !allowed) {
      EXPECT_NE(allowed.error().message.find("mbind"), std::string::npos);
      return;
    }
    EXPECT_EQ(nodes_of_pages(pages).value(), Ids(pages.size(), node));
  }

  const HugeBuffer buffer_ = HugeBuffer::allocate(kBytes).value();
  const NumaTopology topology_ = read_numa_topology().value();
};

TEST_F(NumaMemory, PagesComeFromTheNodeThatIsAskedFor) {
  for (const NumaNode& node : topology_.nodes) {
    const HugeBuffer buffer = HugeBuffer::allocate(kBytes).value();
    prefer_node(buffer.data(), kBytes, node.id);
    expect_pages(buffer.data(), node.id);
  }
}

TEST_F(NumaMemory, InterleavesOverTheNodesOfAPlacement) {
  ThreadPlacement plan = same_node_twice(2);
  interleave_nodes(buffer_.data(), kBytes, plan);
  expect_pages(buffer_.data(), plan.nodes.front().node);
}

// Of two ranges that meet inside a page the first one has it.
TEST_F(NumaMemory, TakesUnevenRanges) {
  prefer_node(buffer_.data(), 5000, 0);
  prefer_node(buffer_.data() + 5000, kBytes - 5000, 0);
  prefer_node(buffer_.data() + 100, 200, 0);
  expect_pages(buffer_.data(), 0);
}

// On a machine with several nodes that is a check of them; with one node all pages are its own.
TEST_F(NumaMemory, PanelsLieBesideTheThreadsThatReadThem) {
  const ThreadPlacement plan = cpu_placement({}).value();
  CpuContext context(DType::kBF16, CpuIsa::kPortable, plan.threads, plan);
  const ThreadBinding binding(plan);
  const int64_t K = 1024;  // 64 KiB a panel
  const OwnedTensor row(DType::kBF16, {1, K}, uniform_values(static_cast<size_t>(K), 1));
  for (const int64_t experts : {1, 5}) {
    const int64_t panels = 20;  // of each
    const PanelMatrix matrix =
        make_panels(
            context, experts * panels, K, DType::kBF16,
            [&](int64_t) { return SourceRow{.view = &row.view, .row = 0}; }, experts)
            .value();
    for (int32_t part = 0; part < plan.num_parts(); ++part) {
      const IndexRange share = plan.share(panels, part);
      std::vector<std::byte*> pages;
      for (int64_t p = share.begin * experts; p < share.end * experts; ++p) {
        // Not the first: of two nodes' panels that meet in a page the first has it.
        pages.push_back(matrix.data.data() + p * matrix.panel_bytes + 4096);
      }
      const auto nodes = nodes_of_pages(pages);
      ASSERT_TRUE(nodes || !check_memory_policy()) << nodes.error().message;
      if (nodes && plan.active()) {
        EXPECT_EQ(*nodes, Ids(pages.size(), plan.nodes[static_cast<size_t>(part)].node)) << part;
      } else if (nodes) {
        EXPECT_EQ(*nodes, Ids(pages.size(), nodes->front()));
      }
    }
  }
}

Ids affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  Ids cpus;
  for (int32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<Ids> affinities_of_team(int32_t threads) {
  std::vector<Ids> team(static_cast<size_t>(threads));
  parallel_region(threads,
                  [&](const Team& t) { team[static_cast<size_t>(t.thread)] = affinity(); });
  return team;
}

TEST(ThreadBinding, WorkersAtOnceCallersOnDemandAndAllGetBackWhatTheyHad) {
  const Ids all = affinity();
  ThreadPlacement plan = same_node_twice(3);  // threads 0 and 1 to 2
  plan.nodes[0].cpus = {all.front()};
  plan.nodes[1].cpus = {all.back(), all.front()};
  {
    ThreadBinding binding(plan);
    EXPECT_EQ(affinities_of_team(3), (std::vector<Ids>{all, {all.back()}, {all.front()}}));
    binding.bind_callers();
    EXPECT_EQ(affinities_of_team(3),
              (std::vector<Ids>{{all.front()}, {all.back()}, {all.front()}}));
  }
  EXPECT_EQ(affinity(), all);
  EXPECT_EQ(affinities_of_team(3), std::vector<Ids>(3, all));
}

TEST(ThreadBinding, NothingWithoutNodes) {
  const Ids all = affinity();
  ThreadBinding binding({.threads = 2, .nodes = {}});
  binding.bind_callers();
  EXPECT_EQ(affinities_of_team(2), std::vector<Ids>(2, all));
}

}  // namespace
}  // namespace deltaserve
