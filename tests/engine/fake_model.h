// A Model that has sizes and nothing else, for the memory plan.
#pragma once

#include <stdexcept>

#include "model/model.h"

namespace deltaserve {

class FakeModel : public Model {
 public:
  FakeModel() {
    config_.vocab_size = 1000;
    config_.max_position_embeddings = 4096;
    memory_ = {.weight_bytes = 1 << 20, .kv_block_bytes = 1 << 16, .state_slot_bytes = 1 << 18};
  }

  const ModelConfig& config() const override { return config_; }
  ModelMemory memory() const override { return memory_; }
  int64_t workspace_bytes(const StepLimits& limits) const override {
    return limits.max_tokens * 1024 + limits.max_logits_rows * 4096 + limits.max_model_len;
  }
  Backend& backend() override { throw std::logic_error("no backend"); }
  Result<void> allocate(const StepLimits&, int64_t, int64_t) override { return {}; }
  void forward(const Batch&, const HiddenCallback&) override {}
  const float* logits() const override { return nullptr; }
  int64_t logits_stride() const override { return 0; }
  void copy_state(int32_t, int32_t) override {}
  void copy_block(int32_t, int32_t) override {}

  ModelConfig config_;
  ModelMemory memory_;
};

}  // namespace deltaserve
