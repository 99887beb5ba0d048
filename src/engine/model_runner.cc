// The runner over a loaded model and its backend.
#include "engine/model_runner.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "model/text_flop.h"

namespace deltaserve {
namespace {

class TowerEncoder final : public VisionEncoder {
 public:
  TowerEncoder(VisionTower& tower, double flop_per_token)
      : tower_(&tower), flop_per_token_(flop_per_token) {}

  int64_t num_pages() const override { return tower_->num_pages(); }
  Result<void> check(const VisionItem& item) const override { return tower_->check(item); }
  void begin(std::vector<VisionJob> jobs) override { tower_->begin(std::move(jobs)); }
  bool busy() const override { return tower_->busy(); }
  int64_t advance(int64_t num_tokens) override {
    const double spent = tower_->advance(static_cast<double>(num_tokens) * flop_per_token_);
    return static_cast<int64_t>(std::ceil(spent / flop_per_token_));
  }

 private:
  VisionTower* tower_;
  double flop_per_token_;
};

class LoadedModelRunner : public ModelRunner, private CacheTransfer {
 public:
  LoadedModelRunner(Model& model, int64_t sampling_vocab_size)
      : model_(&model), sampling_vocab_size_(sampling_vocab_size) {
    VisionTower* const tower = model.vision();
    if (tower != nullptr && tower->num_pages() > 0) {
      encoder_.emplace(*tower, text_flop_per_token(model.config()));
    }
  }

  void run(const Batch& batch, std::span<const SamplingRow> rows,
           std::span<SampledToken> sampled) override {
    DS_CHECK(sampled.size() == rows.size());
    SampleArgs args = forward(batch, rows);
    args.out = sampled.data();
    if (args.B > 0) model_->backend().sample(args);
  }

  bool runs_ahead() const override { return model_->backend().runs_ahead(); }
  void launch(const Batch& batch, std::span<const SamplingRow> rows) override {
    model_->backend().begin_sample(forward(batch, rows));
  }
  void finish(std::span<SampledToken> sampled) override { model_->backend().end_sample(sampled); }

  CacheTransfer* transfer() override { return this; }
  VisionEncoder* vision() override { return encoder_ ? &*encoder_ : nullptr; }

 private:
  // What the draw behind the pass takes, but for where its results go.
  SampleArgs forward(const Batch& batch, std::span<const SamplingRow> rows) {
    DS_CHECK(rows.size() == batch.logits_rows.size());
    model_->forward(batch);
    wait_for_rows();
    return {.B = static_cast<int64_t>(rows.size()),
            .V = sampling_vocab_size_,
            .logits = model_->logits(),
            .logits_stride = model_->logits_stride(),
            .rows = rows.data(),
            .out = nullptr};
  }

  int64_t block_bytes() const override { return model_->memory().kv_block_bytes; }
  int64_t state_bytes() const override { return model_->memory().state_slot_bytes; }
  void save_block(int32_t block, std::byte* to) override { model_->save_block(block, to); }
  void load_block(const std::byte* from, int32_t block) override {
    model_->load_block(from, block);
  }
  void save_state(int32_t slot, std::byte* to) override { model_->save_state(slot, to); }
  void load_state(const std::byte* from, int32_t slot) override { model_->load_state(from, slot); }

  Model* model_;
  int64_t sampling_vocab_size_;
  std::optional<TowerEncoder> encoder_;
};

}  // namespace

void ModelRunner::launch(const Batch&, std::span<const SamplingRow>) {
  DS_CHECK(false, "this runner does not run ahead");
}

void ModelRunner::finish(std::span<SampledToken>) {
  DS_CHECK(false, "this runner does not run ahead");
}

std::unique_ptr<ModelRunner> make_model_runner(Model& model, int64_t sampling_vocab_size) {
  return std::make_unique<LoadedModelRunner>(model, sampling_vocab_size);
}

}  // namespace deltaserve
