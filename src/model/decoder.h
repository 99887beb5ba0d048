// The text model: embeddings, layers of one mixer and one feed-forward network each, final norm and
// head. The residual stream stays in one buffer; each norm first adds what the op before it made.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/attention.h"
#include "model/batch_buffers.h"
#include "model/cache_buffers.h"
#include "model/decoder_layer.h"
#include "model/model.h"
#include "model/vision_tower.h"
#include "model/weight_loader.h"
#include "model/workspace.h"

namespace deltaserve {

class Decoder final : public Model {
 public:
  // Errors are kept by the loader; a decoder of a failed loader must not be used.
  Decoder(ModelConfig config, Backend& backend, WeightLoader& loader);

  const ModelConfig& config() const override { return config_; }
  ModelMemory memory() const override;
  Backend& backend() override { return backend_; }
  VisionTower* vision() const override { return vision_.get(); }
  Result<void> allocate(const StepLimits& limits, int64_t num_blocks,
                        int64_t num_state_slots) override;
  int64_t workspace_bytes(const StepLimits& limits) const override;
  void forward(const Batch& batch, const HiddenCallback& on_hidden) override;
  const float* logits() const override { return workspace_->logits.as<float>(); }
  int64_t logits_stride() const override { return row_stride(config_.vocab_size); }
  void copy_state(int32_t from_slot, int32_t to_slot) override;
  void copy_block(int32_t from_block, int32_t to_block) override;
  void save_state(int32_t slot, std::byte* to) override { cache_.save_state(slot, to); }
  void load_state(const std::byte* from, int32_t slot) override { cache_.load_state(from, slot); }
  void save_block(int32_t block, std::byte* to) override { cache_.save_block(block, to); }
  void load_block(const std::byte* from, int32_t block) override { cache_.load_block(from, block); }

 private:
  struct Rows {
    float* residual = nullptr;       // [T, H]
    const float* pending = nullptr;  // [T, H], what it lacks, or null
    float* delta = nullptr;          // [T, H], for what a layer makes; may be `pending`
    void* normed = nullptr;          // [T, H] X
  };
  void run_model(const Step& step, const Batch& batch, const HiddenCallback& on_hidden);
  // And what a backend must know of the model to size its scratch.
  StepLimits with_shapes(StepLimits limits) const;
  void inject_vision(const Batch& batch) const;
  // All layers, of the last one only what its caches and, if results are `wanted`, its output
  // projection need.
  void run_layers(const Step& step, bool wanted, const HiddenCallback& on_hidden);
  // What stands between two mixers: output projection, feed-forward network, norms, and the next
  // layer's input projection.
  void run_to_next(const Step& step, const DecoderLayer& layer, const DecoderLayer& next) const;
  // residual += pending, and a mixer's input projection of its norm.
  void run_input(const Step& step, const DecoderLayer& layer, const float* pending) const;
  // residual += product, and its norm for a product with `next_rows` rows of weights.
  NormedRows add_normed(const Step& step, const LinearArgs& product, const DeviceBuffer& weight,
                        int64_t next_rows) const;
  // residual += pending, then what the layer's network makes of the sum, for `step.T` rows. Returns
  // what the residual still lacks, or null.
  const float* run_ffn(const Step& step, const DecoderLayer& layer, const Rows& rows) const;
  // The rest of the last layer, for the rows whose logits are wanted only, and the head.
  void run_head(const Step& step, const Batch& batch, const HiddenCallback& on_hidden);
  // The last layer from its output projection on, and the final norm, for `step.T` rows.
  void finish_rows(const Step& step, const LinearArgs& output, Rows rows) const;
  AddRmsNormArgs norm_args(float* residual, const float* delta, const DeviceBuffer& weight,
                           void* out, int64_t rows) const;
  void add_norm(float* residual, const float* delta, const DeviceBuffer& weight, void* out,
                int64_t rows) const;
  void gather_rows(const std::vector<int32_t>& rows, const void* from, void* to,
                   int64_t row_bytes) const;
  void report_hidden(const HiddenCallback& on_hidden, int32_t index, DType dtype, const void* rows,
                     int64_t T);

  ModelConfig config_;
  Backend& backend_;
  RopeBuffers rope_;
  std::unique_ptr<EmbeddingWeight> embed_tokens_;
  std::vector<DecoderLayer> layers_;
  DeviceBuffer norm_;  // [H]
  std::unique_ptr<LinearWeight> lm_head_;
  std::unique_ptr<VisionTower> vision_;
  int64_t weight_bytes_ = 0;
  StepLimits limits_;
  CacheBuffers cache_;
  std::optional<Workspace> workspace_;
  std::optional<BatchBuffers> batch_;
  std::vector<std::byte> host_rows_;  // staging for HiddenCallback
};

}  // namespace deltaserve
