// Prefixes on their way into the cache. Requests that begin at once with the same long text would
// each read all of it, because no snapshot stands yet where they part. So the one that computes it
// (the leader) is told where those that wait part from it and leaves a snapshot there, and they
// wait until it has come by.
//
// A sequence waits only for one that ranks before it and computes a prompt: that one gets its part
// of every step first in any case, so that waiting costs a step at most, and nobody waits in a
// circle. What it waits for is looked at anew in every step; when the leader ends, fails or is
// preempted the sequence goes on by itself or becomes the leader of the others.
#pragma once

#include <cstdint>
#include <span>

#include "engine/prefix_cache.h"
#include "engine/waiting_queue.h"

namespace deltaserve {

class PrefixSharing {
 public:
  // `cache` must outlive this.
  explicit PrefixSharing(PrefixCache& cache) : cache_(&cache) {}

  // `running` is in rank order throughout. A sequence begins to wait, or to run.
  void note_waiting(Sequence& follower, std::span<Sequence* const> running) const;
  void note_running(Sequence& leader, const WaitingQueue& waiting) const;

  // Of a sequence that was adopted and could be admitted: whether it had better wait, since a
  // running one computes more of its prefix than was found. If so it is held.
  bool hold(Sequence& sequence, std::span<Sequence* const> running) const;
  // Whether the one that it was held for is still on its way; if not it is held no longer.
  bool holds(Sequence& sequence, std::span<Sequence* const> running) const;
  // Blocks that a held sequence will need beside those of its leader.
  static int64_t blocks_to_come(const Sequence& held);

 private:
  void note_parting(Sequence& leader, Sequence& follower) const;

  PrefixCache* cache_;
};

}  // namespace deltaserve
