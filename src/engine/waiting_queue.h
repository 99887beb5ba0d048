// Sequences that wait to be admitted, and in which order. By default that is the order of service:
// priority, then first come, first served. With fair share the tenants of one priority take turns:
// next is who was served the fewest tokens, so that one tenant's thousand requests delay another's
// first by one. A tenant that comes back after a pause starts level with the least served of those
// that are there: what it did not use is not saved up.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "engine/sequence.h"

namespace deltaserve {

class WaitingQueue {
 public:
  explicit WaitingQueue(bool fair_share) : fair_share_(fair_share) {}

  // A sequence is known to the queue, waiting or running, from join() to leave().
  void join(const Sequence& sequence);
  void leave(const Sequence& sequence);

  void insert(Sequence& sequence);
  bool erase(Sequence& sequence);  // false: it does not wait

  bool empty() const { return size_ == 0; }
  int64_t size() const { return size_; }
  // In the order of service, whatever the tenants' shares.
  Sequence* first() const;
  // Whose turn it is next, after those that were passed over in this walk; null: nobody's.
  // begin_walk() starts anew. Between two calls sequences may be erased, not inserted.
  void begin_walk();
  Sequence* next();
  void pass_over(Sequence& sequence);

  // Tokens were computed for the sequence.
  void charge(const Sequence& sequence, int64_t num_tokens);

  // Every waiting sequence, in no particular order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [name, tenant] : tenants_) {
      for (Sequence* sequence : tenant.waiting) visit(*sequence);
    }
  }

 private:
  struct RankLess {
    bool operator()(const Sequence* a, const Sequence* b) const { return a->ranks_before(*b); }
  };
  struct Tenant {
    std::set<Sequence*, RankLess> waiting;
    int64_t num_sequences = 0;        // known
    int64_t served_tokens = 0;        // level with the others' when it came
    Sequence* passed_over = nullptr;  // the last in this walk
  };

  // Without fair share all are one tenant.
  const std::string& name_of(const Sequence& sequence) const;
  Sequence* head(const Tenant& tenant) const;

  bool fair_share_;
  int64_t size_ = 0;
  std::map<std::string, Tenant> tenants_;  // those with known sequences
};

}  // namespace deltaserve
