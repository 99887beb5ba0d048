// One ordered set a tenant; a turn looks at the head of each.
#include "engine/waiting_queue.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace deltaserve {

const std::string& WaitingQueue::name_of(const Sequence& sequence) const {
  static const std::string kEverybody;
  return fair_share_ ? sequence.request().tenant : kEverybody;
}

void WaitingQueue::join(const Sequence& sequence) {
  const std::string& name = name_of(sequence);
  const auto known = tenants_.find(name);
  if (known != tenants_.end()) {
    ++known->second.num_sequences;
    return;
  }
  Tenant tenant;
  tenant.num_sequences = 1;
  const auto least = std::ranges::min_element(
      tenants_, {}, [](const auto& entry) { return entry.second.served_tokens; });
  if (least != tenants_.end()) tenant.served_tokens = least->second.served_tokens;
  tenants_.emplace(name, std::move(tenant));
}

void WaitingQueue::leave(const Sequence& sequence) {
  const auto tenant = tenants_.find(name_of(sequence));
  DS_CHECK(tenant != tenants_.end());
  if (--tenant->second.num_sequences == 0) tenants_.erase(tenant);
}

void WaitingQueue::insert(Sequence& sequence) {
  Tenant& tenant = tenants_.at(name_of(sequence));
  if (tenant.waiting.insert(&sequence).second) ++size_;
}

bool WaitingQueue::erase(Sequence& sequence) {
  Tenant& tenant = tenants_.at(name_of(sequence));
  if (tenant.waiting.erase(&sequence) == 0) return false;
  --size_;
  return true;
}

Sequence* WaitingQueue::first() const {
  Sequence* first = nullptr;
  for (const auto& [name, tenant] : tenants_) {
    if (tenant.waiting.empty()) continue;
    Sequence* const head = *tenant.waiting.begin();
    if (first == nullptr || head->ranks_before(*first)) first = head;
  }
  return first;
}

void WaitingQueue::begin_walk() {
  for (auto& [name, tenant] : tenants_) tenant.passed_over = nullptr;
}

Sequence* WaitingQueue::head(const Tenant& tenant) const {
  const auto next = tenant.passed_over == nullptr ? tenant.waiting.begin()
                                                  : tenant.waiting.upper_bound(tenant.passed_over);
  return next == tenant.waiting.end() ? nullptr : *next;
}

Sequence* WaitingQueue::next() {
  Sequence* best = nullptr;
  int64_t best_served = 0;
  for (const auto& [name, tenant] : tenants_) {
    Sequence* const candidate = head(tenant);
    if (candidate == nullptr) continue;
    const auto key = std::tuple(candidate->request().priority, tenant.served_tokens);
    const bool goes_first = best == nullptr ||
                            key < std::tuple(best->request().priority, best_served) ||
                            (key == std::tuple(best->request().priority, best_served) &&
                             candidate->ranks_before(*best));
    if (!goes_first) continue;
    best = candidate;
    best_served = tenant.served_tokens;
  }
  return best;
}

void WaitingQueue::pass_over(Sequence& sequence) {
  tenants_.at(name_of(sequence)).passed_over = &sequence;
}

void WaitingQueue::charge(const Sequence& sequence, int64_t num_tokens) {
  tenants_.at(name_of(sequence)).served_tokens += num_tokens;
}

}  // namespace deltaserve
