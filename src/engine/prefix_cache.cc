// Adoption, snapshots, commitment.
#include "engine/prefix_cache.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace deltaserve {
namespace {

// Messages at either end of the prompt that get a snapshot each: instructions and tools at the
// beginning are shared among conversations, the last ones are where a conversation is edited.
constexpr size_t kFirstBorders = 2;
constexpr size_t kLastBorders = 2;

constexpr int64_t chunk_floor(int64_t position) {
  return position / kChunkSize * kChunkSize;
}

// Tokens that a sequence may skip: the last known one is computed in any case, for its logits, and
// so are rows that score prompt tokens.
int64_t skippable_tokens(const Sequence& sequence) {
  const int64_t all_but_last = sequence.num_tokens() - 1;
  const int64_t num_scored = sequence.owner().num_scored;
  if (!sequence.scores_prompt() || num_scored >= sequence.prompt_len()) return all_but_last;
  return std::min(all_but_last, num_scored - 1);
}

// A sequence that has told of its logits goes on with the same ones.
bool is_bound(const Sequence& sequence) {
  return sequence.has_output() || (sequence.scores_prompt() && sequence.owner().num_scored > 1);
}

}  // namespace

PrefixCache::PrefixCache(const PrefixCacheOptions& options, BlockPool& blocks, StatePool& snapshots,
                         CacheTransfer* transfer)
    : options_(options), blocks_(&blocks), snapshots_(&snapshots) {
  if (!options.enabled) return;
  if (transfer != nullptr && options.swap_space_bytes > 0) {
    host_.emplace(*transfer, options.swap_space_bytes);
  }
  index_.emplace(blocks, snapshots, options.hash_seed, host_ ? &*host_ : nullptr);
}

void PrefixCache::read_chunk(Sequence& sequence, int64_t chunk, ChunkKey& key) const {
  const int64_t begin = chunk * kChunkSize;
  for (int32_t i = 0; i < kChunkSize; ++i) {
    key.tokens[static_cast<size_t>(i)] = sequence.token(begin + i);
  }
  key.content = fold_content(sequence.request().content_keys, begin, begin + kChunkSize);
  key.code = sequence.chunk_code(chunk);
  key.hash = chunk_hash(sequence, chunk);
}

const Hash128& PrefixCache::chunk_hash(Sequence& sequence, int64_t chunk) const {
  const std::vector<ContentKey>& content = sequence.request().content_keys;
  std::vector<Hash128>& hashes = sequence.prefix().hashes;
  Hash128 hash = hashes.empty() ? hash_salt(sequence.request().cache_salt, index_->hash_seed())
                                : hashes.back();
  while (static_cast<int64_t>(hashes.size()) <= chunk) {
    const int64_t begin = static_cast<int64_t>(hashes.size()) * kChunkSize;
    for (int64_t at = begin; at < begin + kChunkSize; at += kBlockSize) {
      std::array<int32_t, kBlockSize> tokens{};
      for (int64_t i = 0; i < kBlockSize; ++i) {
        tokens[static_cast<size_t>(i)] = sequence.token(at + i);
      }
      hash = hash_block(hash, tokens, fold_content(content, at, at + kBlockSize));
    }
    hashes.push_back(hash);
  }
  return hashes[static_cast<size_t>(chunk)];
}

// Whole chunks that both prompts begin with, by their chained hashes: one that is equal stands for
// all before it. A collision makes a sequence wait in vain and nothing else.
int64_t PrefixCache::common_chunks(Sequence& a, Sequence& b) const {
  const int64_t most = std::min(a.prompt_len(), b.prompt_len()) / kChunkSize;
  const auto is_same = [&](int64_t chunk) { return chunk_hash(a, chunk) == chunk_hash(b, chunk); };
  if (most == 0 || !is_same(0)) return 0;
  int64_t same = 0;
  int64_t step = 1;
  for (; same + step < most && is_same(same + step); step *= 2) same += step;
  int64_t end = std::min(same + step, most);
  while (same + 1 < end) {
    const int64_t middle = std::midpoint(same, end);
    (is_same(middle) ? same : end) = middle;
  }
  return same + 1;
}

int64_t PrefixCache::shared_border(Sequence& leader, Sequence& follower) const {
  // One that is bound takes chunks only if they were computed as its own were.
  const bool as_prompts = leader.prefix().inherited.empty() && follower.prefix().inherited.empty();
  if (is_bound(follower) && !as_prompts) return 0;
  const int64_t skippable = skippable_tokens(follower) / kChunkSize;
  return std::min(common_chunks(leader, follower), skippable) * kChunkSize;
}

PrefixNode* PrefixCache::adopt(Sequence& sequence) {
  if (!index_) return nullptr;
  ++counters_.num_lookups;
  SequencePrefix& prefix = sequence.prefix();
  const bool bound = is_bound(sequence);
  PrefixLookup lookup{.salt = sequence.request().cache_salt,
                      .num_chunks = skippable_tokens(sequence) / kChunkSize};
  if (bound) {
    lookup.match = ChunkMatch::kExact;
  } else {
    prefix.inherited.clear();
    lookup.match = options_.reuse_answers ? ChunkMatch::kAny : ChunkMatch::kPrompt;
  }
  const PrefixMatch match =
      index_->find(lookup, [&](int64_t chunk, ChunkKey& key) { read_chunk(sequence, chunk, key); });
  PrefixNode& start = match.node != nullptr ? *match.node : index_->root(lookup.salt);
  prefix.pin = PrefixPin(*index_, start);
  prefix.num_known = match.num_known_tokens;
  if (match.node == nullptr) return nullptr;
  PrefixNode& on_device = device_part(start);
  if (&on_device != &start) prefix.device_pin = PrefixPin(*index_, on_device);
  sequence.table().share(prefix_blocks(on_device));
  sequence.resume_at(start.num_tokens());
  if (bound) return match.node;
  prefix.inherited.resize(static_cast<size_t>(start.depth));
  bool all_prompt = true;
  for (const PrefixNode* node = &start; node->parent != nullptr; node = node->parent) {
    prefix.inherited[static_cast<size_t>(node->depth - 1)] = node->key.code;
    all_prompt = all_prompt && node->key.code == 0;
  }
  if (all_prompt) prefix.inherited.clear();
  return match.node;
}

void PrefixCache::let_go(Sequence& sequence) {
  if (!index_) return;
  sequence.table().clear();
  sequence.resume_at(0);
  sequence.prefix().pin.reset();
  sequence.prefix().device_pin.reset();
}

void PrefixCache::restore(Sequence& sequence, PrefixNode& found, StepPlan& plan) {
  index_->note_hit(found);
  std::vector<PrefixNode*> on_host;
  for (PrefixNode* node = &found; !node->on_device(); node = node->parent) on_host.push_back(node);
  for (auto node = on_host.rbegin(); node != on_host.rend(); ++node) {
    const auto first = static_cast<size_t>(((*node)->depth - 1) * kBlocksPerChunk);
    index_->load_chunk(**node, std::span<const int32_t, kBlocksPerChunk>(
                                   sequence.table().blocks().data() + first, kBlocksPerChunk));
  }
  sequence.prefix().device_pin.reset();
  const int32_t slot = sequence.slot()->id();
  if (found.snapshot) {
    plan.restores.push_back({.from = found.snapshot->id(), .to = slot});
  } else {
    host_->load_state(found, slot);
  }
}

void PrefixCache::start(Sequence& sequence, PrefixNode* found, StepPlan& plan) {
  if (found != nullptr) restore(sequence, *found, plan);
  const int64_t begin = sequence.num_computed();
  RequestState& request = sequence.owner();
  if (!request.num_cached_tokens) request.num_cached_tokens = begin;
  if (sequence.num_lost() > 0) {
    plan.num_recomputed_tokens += std::max<int64_t>(0, sequence.num_lost() - begin);
    return;
  }
  if (!index_) return;
  counters_.query_tokens += sequence.prompt_len();
  counters_.hit_tokens += begin;
}

void PrefixCache::make_room(const BlockTable& table, int64_t num_tokens) {
  make_room(blocks_for_tokens(num_tokens) - table.num_blocks());
}

void PrefixCache::make_room(int64_t num_blocks) {
  const int64_t num_free = blocks_->num_free();
  if (!index_ || num_blocks <= num_free) return;
  if (num_blocks > num_free + blocks_->num_reclaimable()) return;
  DS_CHECK(index_->evict_blocks(num_blocks), "cached blocks could not be had");
}

void PrefixCache::want(int64_t border, int64_t begin, int64_t end) {
  if (border > begin && border <= end) borders_.push_back(border);
}

// Fills borders_ with positions in what the step computes of the sequence, ascending.
void PrefixCache::wanted_borders(const ScheduledSequence& scheduled) {
  borders_.clear();
  const Sequence& sequence = *scheduled.sequence;
  if (sequence.prefix().detached) return;
  const int64_t begin = scheduled.begin;
  const int64_t end = scheduled.end();
  if (chunk_floor(end) <= begin) return;
  const int64_t prompt_len = sequence.prompt_len();
  if (scheduled.recurrent || end == prompt_len) {
    // Where the answer stands now; for a prompt that ends on a border, its beginning.
    const bool ends_there = scheduled.recurrent || prompt_len % kChunkSize == 0;
    if (options_.reuse_answers && ends_there) want(chunk_floor(end), begin, end);
  }
  if (scheduled.recurrent) return;
  want(chunk_floor(prompt_len - 1), begin, end);
  want(sequence.prefix().num_known, begin, end);
  for (const int64_t parting : sequence.prefix().partings) want(parting, begin, end);
  const std::vector<int64_t>& messages = sequence.request().cache_borders;
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool counts = i < kFirstBorders || i + kLastBorders >= messages.size();
    if (counts) want(chunk_floor(messages[i]), begin, end);
  }
  if (options_.snapshot_interval > 0) {
    const int64_t distance = options_.snapshot_interval * kChunkSize;
    for (int64_t at = (begin / distance + 1) * distance; at <= end; at += distance) {
      want(at, begin, end);
    }
  }
  std::ranges::sort(borders_);
  borders_.erase(std::ranges::unique(borders_).begin(), borders_.end());
}

void PrefixCache::plan_snapshots(StepPlan& plan) {
  if (!index_ || snapshots_->num_slots() == 0) return;
  int32_t left = kMaxStepSnapshots;
  for (ScheduledSequence& scheduled : plan.sequences) {
    wanted_borders(scheduled);
    // The later ones save more to those who reach them.
    const auto excess = std::max<int64_t>(0, static_cast<int64_t>(borders_.size()) - left);
    for (const int64_t border : std::span(borders_).subspan(static_cast<size_t>(excess))) {
      std::optional<StateSlot> slot = index_->reserve_snapshot();
      if (!slot) return;
      plan.snapshots.push_back({.position = border, .slot = std::move(*slot)});
      ++scheduled.num_snapshots;
      --left;
    }
  }
}

void PrefixCache::commit(Sequence& sequence, std::span<PlannedSnapshot> snapshots) {
  if (!index_) return;
  const int64_t end = sequence.num_computed() / kChunkSize;
  while (!sequence.prefix().detached && sequence.prefix().pin.node()->depth < end) {
    if (commit_chunk(sequence, sequence.prefix().pin.node()->depth)) continue;
    sequence.prefix().detached = true;
  }
  for (PlannedSnapshot& snapshot : snapshots) commit_snapshot(sequence, snapshot);
}

bool PrefixCache::commit_chunk(Sequence& sequence, int64_t chunk) {
  ChunkKey key;
  read_chunk(sequence, chunk, key);
  if (key.code != 0 && !options_.reuse_answers) return false;
  SequencePrefix& prefix = sequence.prefix();
  BlockTable& table = sequence.table();
  const int64_t first = chunk * kBlocksPerChunk;
  const std::span<const int32_t, kBlocksPerChunk> blocks(table.blocks().data() + first,
                                                         kBlocksPerChunk);
  PrefixNode* const node = index_->extend(*prefix.pin.node(), key, blocks);
  if (node == nullptr) return false;
  prefix.pin = PrefixPin(*index_, *node);
  // Another sequence was first: its blocks hold the same and serve both.
  for (int64_t b = 0; b < kBlocksPerChunk; ++b) {
    table.replace(first + b, node->blocks[static_cast<size_t>(b)]);
  }
  return true;
}

void PrefixCache::commit_snapshot(Sequence& sequence, PlannedSnapshot& snapshot) {
  SequencePrefix& prefix = sequence.prefix();
  const int64_t depth = snapshot.position / kChunkSize;
  if (prefix.pin.node()->depth < depth) return;
  PrefixNode& node = prefix_ancestor(*prefix.pin.node(), depth);
  if (node.has_state()) return;
  const int32_t slot = snapshot.slot.id();
  index_->attach_snapshot(node, std::move(snapshot.slot));
  if (snapshot.position < sequence.prompt_len()) return;
  // Of an answer only the newest state is kept.
  if (PrefixNode* const last = std::exchange(prefix.last_answer, &node)) {
    const bool still_there = last->snapshot && last->snapshot->id() == prefix.last_answer_slot;
    if (still_there && last->num_hits == 0) index_->drop_snapshot(*last);
  }
  prefix.last_answer_slot = slot;
}

void PrefixCache::forget(Sequence& sequence) {
  if (!index_) return;
  SequencePrefix& prefix = sequence.prefix();
  PrefixNode* const node = prefix.pin.node();
  if (node == nullptr || node->parent == nullptr) return;
  prefix.detached = true;
  prefix.last_answer = nullptr;
  const PrefixPin root(*index_, prefix_ancestor(*node, 0));
  sequence.table().clear();
  prefix.pin.reset();
  index_->forget(*node);
}

void PrefixCache::remember(const Sequence& sequence) {
  const std::string& name = sequence.request().cache_name;
  if (!index_ || name.empty()) return;
  const PrefixNode* node = sequence.prefix().pin.node();
  while (node != nullptr && node->parent != nullptr && !node->has_state()) node = node->parent;
  if (node == nullptr || node->parent == nullptr) return;
  names_.put(name, sequence.request().cache_salt, *node);
}

void PrefixCache::recount() {
  if (!index_) return;
  std::vector<int32_t> held;
  for (const PrefixNode* node : index_->all_nodes()) {
    if (node->snapshot) held.push_back(node->snapshot->id());
  }
  snapshots_->recount(held);
}

}  // namespace deltaserve
