// What the core tells of itself: figures for /metrics, and a snapshot for the invariants.
#include "engine/engine_core.h"

namespace deltaserve {

EngineStats EngineCore::stats() const {
  EngineStats stats = totals_;
  stats.num_running = static_cast<int64_t>(scheduler_.running().size());
  stats.num_waiting = scheduler_.num_waiting();
  if (blocks_.num_blocks() > 0) {
    const int32_t unused = blocks_.num_free() + blocks_.num_reclaimable();
    stats.kv_cache_usage = 1.0 - static_cast<double>(unused) / blocks_.num_blocks();
  }
  stats.prefix_query_tokens = cache_.counters().query_tokens;
  stats.prefix_hit_tokens = cache_.counters().hit_tokens;
  stats.encoder_queries = encoded_.num_queries();
  stats.encoder_hits = encoded_.num_hits();
  stats.encoded_items = encoded_.num_encoded();
  if (cache_.index() == nullptr) return stats;
  const PrefixIndexStats index = cache_.index()->stats();
  stats.num_snapshots = index.num_snapshots;
  stats.snapshot_bytes = index.num_snapshots * state_slot_bytes_;
  stats.cached_blocks = (index.num_nodes - index.host.num_chunks) * kBlocksPerChunk;
  stats.evicted_blocks = index.evicted_blocks;
  stats.evicted_snapshots = index.evicted_snapshots;
  stats.swapped_blocks = index.host.num_chunks * kBlocksPerChunk;
  stats.swapped_snapshots = index.host.num_states;
  stats.swapped_in_blocks = index.host.chunks_in * kBlocksPerChunk;
  stats.swapped_out_blocks = index.host.chunks_out * kBlocksPerChunk;
  return stats;
}

EngineSnapshot EngineCore::snapshot() const {
  EngineSnapshot snapshot;
  for (int32_t i = 0; i < blocks_.num_blocks(); ++i) {
    snapshot.block_ref_counts.push_back(blocks_.ref_count(i));
  }
  for (int32_t i = 0; i < slots_.num_slots(); ++i) {
    snapshot.slots_in_use.push_back(slots_.in_use(i) ? 1 : 0);
  }
  for (int32_t i = 0; i < snapshots_.num_slots(); ++i) {
    snapshot.snapshots_in_use.push_back(snapshots_.in_use(snapshots_.first_slot() + i) ? 1 : 0);
  }
  snapshot.num_reclaimable_blocks = blocks_.num_reclaimable();
  if (cache_.index() != nullptr) take_snapshot(*cache_.index(), snapshot.nodes);
  if (cache_.host() != nullptr) {
    const HostTierStats host = cache_.index()->stats().host;
    snapshot.num_host_chunks = host.num_chunks;
    snapshot.num_host_states = host.num_states;
  }
  snapshot.num_free_blocks = blocks_.num_free();
  snapshot.num_free_slots = slots_.num_free();
  snapshot.num_running = static_cast<int64_t>(scheduler_.running().size());
  snapshot.num_waiting = scheduler_.num_waiting();
  snapshot.max_num_seqs = max_num_seqs_;
  std::unordered_map<const Sequence*, int64_t> num_ahead;
  if (ahead_) {
    const StepPlan& plan = steps_[current_].plan;
    for (const ScheduledSequence& s : plan.sequences)
      num_ahead[s.sequence] = s.num_scheduled_tokens;
    for (const PlannedSnapshot& s : plan.snapshots) {
      snapshot.planned_snapshots.push_back(s.slot.id());
    }
  }
  for (const auto& [id, request] : requests_) {
    for (const auto& sequence : request->choices) {
      snapshot.sequences.push_back(take_snapshot(*sequence));
      snapshot.sequences.back().num_ahead = num_ahead[sequence.get()];
    }
  }
  return snapshot;
}

}  // namespace deltaserve
