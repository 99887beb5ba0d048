// Leaders, followers and the borders between them.
#include "engine/prefix_sharing.h"

#include <algorithm>

namespace deltaserve {
namespace {

// Whether the sequence computes its prompt in chunks and as fast as the steps allow. What was
// inherited of answers is computed one by one, and scored prompts in steps of a chunk.
bool can_lead(const Sequence& sequence) {
  const SequencePrefix& prefix = sequence.prefix();
  const auto inherited = static_cast<int64_t>(prefix.inherited.size()) * kChunkSize;
  return sequence.status() == SequenceStatus::kRunning && sequence.in_prompt() &&
         !prefix.detached && inherited <= sequence.num_computed() &&
         sequence.request().prompt_logprobs < 0;
}

// The last of the leader's snapshots to come up to `border`; 0: there is none.
int64_t last_parting(const Sequence& leader, int64_t border) {
  const std::vector<int64_t>& partings = leader.prefix().partings;
  const auto behind = std::ranges::upper_bound(partings, border);
  if (behind == partings.begin() || behind[-1] <= leader.num_computed()) return 0;
  return behind[-1];
}

}  // namespace

void PrefixSharing::note_waiting(Sequence& follower, std::span<Sequence* const> running) const {
  if (!cache_->shares_prefixes()) return;
  for (Sequence* leader : running) note_parting(*leader, follower);
}

void PrefixSharing::note_running(Sequence& leader, const WaitingQueue& waiting) const {
  if (!cache_->shares_prefixes()) return;
  waiting.for_each([&](Sequence& follower) { note_parting(leader, follower); });
}

void PrefixSharing::note_parting(Sequence& leader, Sequence& follower) const {
  if (&leader.owner() == &follower.owner() || !can_lead(leader)) return;
  SequencePrefix& prefix = leader.prefix();
  const int64_t border = cache_->shared_border(leader, follower);
  const int64_t least = cache_->options().min_shared_tokens;
  if (border <= leader.num_computed() || border < prefix.num_found + least) return;
  const auto place = std::ranges::upper_bound(prefix.partings, border);
  // One shortly before it serves as well.
  if (place != prefix.partings.begin() && place[-1] > border - least) return;
  prefix.partings.insert(place, border);
}

bool PrefixSharing::hold(Sequence& sequence, std::span<Sequence* const> running) const {
  if (!cache_->shares_prefixes()) return false;
  SequencePrefix& prefix = sequence.prefix();
  int64_t best = sequence.num_computed() + cache_->options().min_shared_tokens - 1;
  prefix.held_for.reset();
  for (Sequence* leader : running) {
    if (!leader->ranks_before(sequence)) break;
    if (leader->prefix().partings.empty() || !can_lead(*leader)) continue;
    const int64_t border = last_parting(*leader, cache_->shared_border(*leader, sequence));
    if (border <= best) continue;
    best = border;
    prefix.held_for = leader->arrival();
    prefix.held_until = border;
  }
  return prefix.held_for.has_value();
}

bool PrefixSharing::holds(Sequence& sequence, std::span<Sequence* const> running) const {
  SequencePrefix& prefix = sequence.prefix();
  if (!prefix.held_for) return false;
  const auto leader = std::ranges::find(running, *prefix.held_for, &Sequence::arrival);
  if (leader != running.end() && can_lead(**leader) &&
      (*leader)->num_computed() < prefix.held_until) {
    return true;
  }
  prefix.held_for.reset();
  return false;
}

int64_t PrefixSharing::blocks_to_come(const Sequence& held) {
  return blocks_for_tokens(held.num_tokens()) - held.prefix().held_until / kBlockSize;
}

}  // namespace deltaserve
