// Hash arithmetic in place of tensors.
#include "fake_runner.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace deltaserve {
namespace {

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a ^ (b + 0x9E3779B97F4A7C15U + (a << 6U) + (a >> 2U));
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

constexpr uint64_t kZeroState = 1;
constexpr uint64_t kRecurrentRow = 2;
constexpr uint64_t kChunkBegin = 3;
constexpr uint64_t kChunkEnd = 4;

void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

float to_logprob(uint64_t hash) {
  return -static_cast<float>(hash % 4096) / 256.0F;
}

}  // namespace

FakeRunner::FakeRunner(int32_t num_blocks, int32_t num_slots, int32_t vocab_size,
                       int64_t vision_pages)
    : vocab_size_(vocab_size),
      kv_(static_cast<size_t>(num_blocks) * kBlockSize),
      states_(static_cast<size_t>(num_slots)) {
  if (vision_pages > 0) encoder.emplace(vision_pages);
}

FakeRunner::KvEntry& FakeRunner::kv(int32_t slot) {
  require(slot >= 0 && static_cast<size_t>(slot) < kv_.size(), "KV slot out of range");
  return kv_[static_cast<size_t>(slot)];
}

void FakeRunner::run(const Batch& batch, std::span<const SamplingRow> rows,
                     std::span<SampledToken> sampled) {
  ++num_runs;
  for (const StateCopy& copy : batch.restores) {
    states_.at(static_cast<size_t>(copy.to)) = states_.at(static_cast<size_t>(copy.from));
  }
  hidden_.assign(batch.input_ids.size(), 0);
  inputs_.assign(batch.input_ids.begin(), batch.input_ids.end());
  for (size_t t = 0; t < batch.drawn_rows.size(); ++t) {
    if (batch.drawn_rows[t] < 0) continue;
    require(batch.input_ids[t] == 0, "an input id is known and drawn");
    const int32_t token = drawn_.at(static_cast<size_t>(batch.drawn_rows[t]));
    inputs_[t] = static_cast<uint64_t>(std::max(0, token));
  }
  for (const EmbeddingCopy& copy : batch.embeddings) {
    for (int32_t i = 0; i < copy.count; ++i) {
      inputs_.at(static_cast<size_t>(copy.row + i)) = encoder.value().row(copy.from + i);
    }
  }
  int32_t begin = 0;
  for (size_t phase = 0; phase < batch.phase_ends.size(); ++phase) {
    run_phase(batch, static_cast<int32_t>(phase), begin, batch.phase_ends[phase]);
    begin = batch.phase_ends[phase];
  }
  require(begin == batch.num_seqs(), "a sequence belongs to no phase");
  wait_for_rows();
  for (size_t r = 0; r < rows.size(); ++r) {
    const int32_t row = batch.logits_rows[r];
    const auto after = std::ranges::upper_bound(batch.cu_seqlens, row);
    const auto b = static_cast<int32_t>(after - batch.cu_seqlens.begin()) - 1;
    SamplingRow settings = rows[r];
    std::vector<TokenCount> counts;
    if (settings.drawn_row >= 0) {
      counts = count_once_more(settings, drawn_.at(static_cast<size_t>(settings.drawn_row)));
      settings.counts = counts.data();
      settings.num_counts = static_cast<int32_t>(counts.size());
    }
    sampled[r] = draw(logits(batch, b, row), settings);
  }
  if (!rows.empty()) {
    drawn_.clear();
    for (const SampledToken& token : sampled) drawn_.push_back(token.token);
  }
  for (const BlockCopy& copy : batch.block_copies) {
    for (int32_t i = 0; i < kBlockSize; ++i) {
      kv(copy.to * kBlockSize + i) = kv(copy.from * kBlockSize + i);
    }
  }
}

void FakeRunner::run_phase(const Batch& batch, int32_t phase, int32_t begin, int32_t end) {
  std::vector<int32_t> slots(batch.state_slots.begin() + begin, batch.state_slots.begin() + end);
  std::ranges::sort(slots);
  require(std::ranges::adjacent_find(slots) == slots.end(), "two sequences share a state slot");
  for (int32_t b = begin; b < end; ++b) {
    if (on_sequence) on_sequence(batch, b);
    run_sequence(batch, b);
  }
  for (const StateCopy& copy : batch.snapshots) {
    if (copy.phase != phase) continue;
    states_.at(static_cast<size_t>(copy.to)) = states_.at(static_cast<size_t>(copy.from));
  }
}

void FakeRunner::run_sequence(const Batch& batch, int32_t sequence) {
  const auto b = static_cast<size_t>(sequence);
  const int32_t context = batch.context_lens[b];
  uint64_t& slot = states_.at(static_cast<size_t>(batch.state_slots[b]));
  uint64_t state = context == 0 ? kZeroState : slot;
  const auto begin = static_cast<size_t>(batch.cu_seqlens[b]);
  const auto end = static_cast<size_t>(batch.cu_seqlens[b + 1]);
  require(begin < end, "a sequence without rows");
  uint64_t chunk = 0;
  for (size_t row = begin; row < end; ++row) {
    const uint64_t position = static_cast<uint64_t>(context) + row - begin;
    uint64_t input = mix(inputs_[row], position);
    for (size_t axis = 0; axis < 3; ++axis) {
      input =
          mix(input, static_cast<uint64_t>(batch.positions[axis * batch.input_ids.size() + row]));
    }
    if (batch.recurrent[b] != 0) {
      state = mix(mix(state, kRecurrentRow), input);
      hidden_[row] = state;
    } else {
      if (row == begin || position % kChunkSize == 0) chunk = mix(state, kChunkBegin);
      chunk = mix(chunk, input);
      hidden_[row] = chunk;
      if (row + 1 == end || (position + 1) % kChunkSize == 0) state = mix(chunk, kChunkEnd);
    }
    kv(batch.slot_mapping[row]) = {.position = static_cast<int32_t>(position),
                                   .hash = hidden_[row]};
  }
  slot = state;
}

uint64_t FakeRunner::logits(const Batch& batch, int32_t sequence, int32_t row) {
  const auto b = static_cast<size_t>(sequence);
  const int32_t last = batch.context_lens[b] + row - batch.cu_seqlens[b];
  const int32_t* table =
      batch.block_tables.data() +
      static_cast<size_t>(sequence) * static_cast<size_t>(batch.max_blocks_per_seq);
  require(last / kBlockSize < batch.max_blocks_per_seq, "a block table is too short");
  uint64_t sum = 0;
  for (int32_t i = 0; i <= last; ++i) {
    const KvEntry& entry = kv(table[i / kBlockSize] * kBlockSize + i % kBlockSize);
    require(entry.position == i, "a KV entry of another position");
    sum = (sum << 1U | sum >> 63U) ^ entry.hash;
  }
  return mix(hidden_[static_cast<size_t>(row)], sum);
}

SampledToken FakeRunner::draw(uint64_t logits, const SamplingRow& row) const {
  SampledToken out;
  if (non_finite_every != 0 && logits % non_finite_every == 0) {
    out.finite = false;
    return out;
  }
  uint64_t x = logits;
  for (int32_t i = 0; i < row.num_counts; ++i) {  // a sum: the order of counts means nothing
    x += mix(static_cast<uint64_t>(row.counts[i].token),
             static_cast<uint64_t>(row.counts[i].in_output) + 1);
  }
  if (row.temperature > 0.0F) x = mix(mix(x, row.seed), static_cast<uint64_t>(row.position));
  const auto vocab = static_cast<uint64_t>(vocab_size_);
  out.token = static_cast<int32_t>(x % vocab);
  for (int32_t i = 0; i < row.num_logit_bias; ++i) {
    if (row.logit_bias[i].bias >= 1e29F) out.token = row.logit_bias[i].token;
  }
  const std::span banned(row.banned, static_cast<size_t>(row.num_banned));
  const auto may_come = [&](int32_t token) {
    const bool allowed =
        row.allowed == nullptr || (row.allowed[token / 64] >> (token % 64) & 1U) != 0;
    return allowed && std::ranges::find(banned, token) == banned.end();
  };
  while (!may_come(out.token)) out.token = (out.token + 1) % vocab_size_;
  if (row.num_logprobs < 0) return out;
  out.logprob = to_logprob(mix(logits, static_cast<uint64_t>(out.token)));
  for (int32_t i = 0; i < row.num_logprobs; ++i) {
    const uint64_t hash = mix(logits, vocab + static_cast<uint64_t>(i));
    out.top.push_back({.token = static_cast<int32_t>(hash % vocab), .logprob = to_logprob(hash)});
  }
  return out;
}

void FakeRunner::save_block(int32_t block, std::byte* to) {
  std::memcpy(to, &kv(block * kBlockSize), static_cast<size_t>(block_bytes()));
}

void FakeRunner::load_block(const std::byte* from, int32_t block) {
  std::memcpy(&kv(block * kBlockSize), from, static_cast<size_t>(block_bytes()));
}

void FakeRunner::save_state(int32_t slot, std::byte* to) {
  std::memcpy(to, &states_.at(static_cast<size_t>(slot)), sizeof(uint64_t));
}

void FakeRunner::load_state(const std::byte* from, int32_t slot) {
  std::memcpy(&states_.at(static_cast<size_t>(slot)), from, sizeof(uint64_t));
}

}  // namespace deltaserve
