// The linear-attention mixer: stacked input projection, causal convolution, gated delta rule, gated
// norm, output projection (Yang et al. 2024, arXiv:2412.06464, as Qwen3-Next arranges it).
#pragma once

#include <memory>
#include <string>

#include "model/cache_buffers.h"
#include "model/config.h"
#include "model/device_buffer.h"
#include "model/weight_loader.h"
#include "model/workspace.h"

namespace deltaserve {

class GatedDeltaNet {
 public:
  // Tensors under `prefix` ("...layers.N.linear_attn."). Errors are kept by the loader.
  GatedDeltaNet(const ModelConfig& config, const std::string& prefix, WeightLoader& loader);

  // The projections before and behind the mixer: `linear` of x [T, H] X to the workspace, and from
  // there to float32 [T, H], but for where that goes.
  LinearArgs input(const Step& step, const NormedRows& x) const;
  LinearArgs output(const Step& step) const;
  // What stands between them; `state` are this layer's pools. Snapshots that are due after a phase
  // are taken of this layer's state.
  void mix(const Step& step, const LinearState& state) const;

 private:
  DeltaDecodeArgs ops(const Step& step, const PhaseView& phase, const LinearState& state) const;

  int32_t num_k_heads_ = 0;  // Hk
  int32_t num_v_heads_ = 0;  // Hv
  int32_t dk_ = 0;
  int32_t dv_ = 0;
  int64_t hidden_size_ = 0;  // H
  int64_t channels_ = 0;     // C
  float eps_ = 0.0F;
  std::unique_ptr<LinearWeight> in_proj_;  // rows qkv C | z Hv dv | b Hv | a Hv
  std::unique_ptr<LinearWeight> out_proj_;
  DeviceBuffer conv_weight_;  // [C, 4]
  DeviceBuffer A_log_;        // [Hv]
  DeviceBuffer dt_bias_;      // [Hv]
  DeviceBuffer norm_;         // [dv]
};

}  // namespace deltaserve
