// A model made of hashes that shares the real one's memory discipline: KV lives where slot_mapping
// says and is read through block tables, state lives in its slot. A logits row depends on every KV
// entry of its sequence, on its state, and on where chunks were cut and which rows were recurrent.
// Any wrong block, slot, position or cut therefore gives another text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/model_runner.h"
#include "fake_encoder.h"

namespace deltaserve {

class FakeRunner : public ModelRunner, private CacheTransfer {
 public:
  // With `vision_pages` it takes pictures.
  FakeRunner(int32_t num_blocks, int32_t num_slots, int32_t vocab_size, int64_t vision_pages = 0);

  void run(const Batch& batch, std::span<const SamplingRow> rows,
           std::span<SampledToken> sampled) override;

  int32_t vocab_size() const { return vocab_size_; }
  CacheTransfer* transfer() override { return this; }
  VisionEncoder* vision() override { return encoder ? &*encoder : nullptr; }

  // Called before each sequence of a batch; may throw to fail the step half way.
  std::function<void(const Batch& batch, int32_t sequence)> on_sequence;
  // Rows whose hash is a multiple of it are non-finite; 0: none.
  uint64_t non_finite_every = 0;
  int64_t num_runs = 0;
  std::optional<FakeEncoder> encoder;

 private:
  struct KvEntry {
    int32_t position = -1;
    uint64_t hash = 0;
  };

  int64_t block_bytes() const override { return kBlockSize * int64_t{sizeof(KvEntry)}; }
  int64_t state_bytes() const override { return int64_t{sizeof(uint64_t)}; }
  void save_block(int32_t block, std::byte* to) override;
  void load_block(const std::byte* from, int32_t block) override;
  void save_state(int32_t slot, std::byte* to) override;
  void load_state(const std::byte* from, int32_t slot) override;

  KvEntry& kv(int32_t slot);
  void run_phase(const Batch& batch, int32_t phase, int32_t begin, int32_t end);
  void run_sequence(const Batch& batch, int32_t sequence);
  uint64_t logits(const Batch& batch, int32_t sequence, int32_t row);
  SampledToken draw(uint64_t logits, const SamplingRow& row) const;

  int32_t vocab_size_;
  std::vector<KvEntry> kv_;       // [blocks * kBlockSize]
  std::vector<uint64_t> states_;  // [slots]
  std::vector<uint64_t> hidden_;  // [T] of this step
  std::vector<uint64_t> inputs_;  // [T] token ids, or what pictures show in their place
  std::vector<int32_t> drawn_;    // tokens of the last run that drew any
};

}  // namespace deltaserve
