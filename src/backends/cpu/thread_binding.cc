#include "backends/cpu/thread_binding.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <sched.h>

namespace deltaserve {
namespace {

struct Plan {
  uint64_t id = 0;
  cpu_set_t process;                 // what the process had
  bool with_callers = false;         // thread 0 follows
  std::vector<cpu_set_t> by_thread;  // empty: all get back `process`
};

std::mutex plan_mutex;
std::shared_ptr<const Plan> current_plan;
uint64_t last_id = 0;
std::atomic<uint64_t> current_id = 0;
thread_local uint64_t followed_id = 0;

std::shared_ptr<const Plan> get_plan() {
  const std::lock_guard lock(plan_mutex);
  return current_plan;
}

// Makes `plan` the current one if `replaces` is, or whatever it is if that is 0. Returns its id; 0
// if it came too late.
uint64_t publish(Plan plan, uint64_t replaces) {
  const std::lock_guard lock(plan_mutex);
  if (replaces != 0 && current_id != replaces) {
    return 0;
  }
  plan.id = ++last_id;
  current_plan = std::make_shared<const Plan>(std::move(plan));
  current_id = last_id;
  return last_id;
}

cpu_set_t set_of(const std::vector<int32_t>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int32_t cpu : cpus) {
    CPU_SET(static_cast<size_t>(cpu), &set);
  }
  return set;
}

}  // namespace

ThreadBinding::ThreadBinding(const ThreadPlacement& placement) {
  const auto has_cpus = [](const NodeShare& node) { return !node.cpus.empty(); };
  Plan plan;
  CPU_ZERO(&plan.process);
  if (!placement.active() || !std::ranges::all_of(placement.nodes, has_cpus) ||
      sched_getaffinity(0, sizeof(plan.process), &plan.process) != 0) {
    return;
  }
  for (const NodeShare& node : placement.nodes) {
    for (const int32_t cpu : node.cpus) {
      plan.by_thread.push_back(set_of({cpu}));
    }
  }
  plan.by_thread.front() = set_of(placement.nodes.front().cpus);
  id_ = publish(std::move(plan), 0);
}

void ThreadBinding::bind_callers() {
  const std::shared_ptr<const Plan> plan = get_plan();
  if (id_ != 0 && plan->id == id_) {
    Plan with_callers = *plan;
    with_callers.with_callers = true;
    id_ = publish(std::move(with_callers), id_);
  }
}

ThreadBinding::~ThreadBinding() {
  const std::shared_ptr<const Plan> plan = get_plan();
  if (id_ != 0 && plan->id == id_) {
    publish({.process = plan->process, .with_callers = true, .by_thread = {}}, id_);
    if (followed_id != 0) {
      follow_thread_binding(0);
    }
  }
}

void follow_thread_binding(int32_t thread) {
  if (current_id.load(std::memory_order_relaxed) == followed_id) {
    return;
  }
  const std::shared_ptr<const Plan> plan = get_plan();
  const auto index = static_cast<size_t>(thread);
  if (index == 0 && !plan->with_callers) {
    return;
  }
  // A core that has gone since leaves its thread where it was, which is no error.
  const cpu_set_t& set = index < plan->by_thread.size() ? plan->by_thread[index] : plan->process;
  sched_setaffinity(0, sizeof(set), &set);
  followed_id = plan->id;
}

}  // namespace deltaserve
