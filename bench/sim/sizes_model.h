// A model that has the sizes of a configuration on a GPU and nothing else, so that the engine's own
// memory plan decides how many blocks, states and snapshots there are.
#pragma once

#include <stdexcept>

#include "gpu_cost.h"
#include "model/model.h"

namespace deltaserve {

class SizesModel : public Model {
 public:
  SizesModel(const ModelConfig& config, const GpuCost& cost)
      : config_(config),
        memory_{.weight_bytes = cost.weight_bytes(),
                .kv_block_bytes = cost.kv_block_bytes(),
                .state_slot_bytes = cost.state_bytes()} {}

  const ModelConfig& config() const override { return config_; }
  ModelMemory memory() const override { return memory_; }
  // Activations of the widest layer and the logits, with room for kernels' scratch.
  int64_t workspace_bytes(const StepLimits& limits) const override {
    const int64_t row = 64 * static_cast<int64_t>(config_.hidden_size);
    return limits.max_tokens * row + limits.max_logits_rows * config_.vocab_size * 4;
  }
  Backend& backend() override { throw std::logic_error("no backend"); }
  Result<void> allocate(const StepLimits&, int64_t, int64_t) override { return {}; }
  void forward(const Batch&, const HiddenCallback&) override {
    throw std::logic_error("nothing to run");
  }
  const float* logits() const override { return nullptr; }
  int64_t logits_stride() const override { return 0; }
  void copy_state(int32_t, int32_t) override {}
  void copy_block(int32_t, int32_t) override {}

 private:
  ModelConfig config_;
  ModelMemory memory_;
};

}  // namespace deltaserve
