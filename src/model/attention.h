// The full-attention mixer: one stacked q+gate|k|v projection, per-head norms, partial rotary
// embedding, causal grouped-query attention over the paged cache, sigmoid gate, output projection.
#pragma once

#include <memory>
#include <string>

#include "model/config.h"
#include "model/device_buffer.h"
#include "model/weight_loader.h"
#include "model/workspace.h"

namespace deltaserve {

// Rotary constants on the device, shared by all layers.
struct RopeBuffers {
  RopeBuffers(const RopeConfig& rope, WeightLoader& loader);
  int32_t rotary_dim = 0;
  float attention_factor = 1.0F;
  DeviceBuffer inv_freq;    // [rotary_dim / 2] float32
  DeviceBuffer mrope_axis;  // [rotary_dim / 2] uint8
};

class Attention {
 public:
  // Tensors under `prefix` ("...layers.N.self_attn."). Errors are kept by the loader.
  Attention(const ModelConfig& config, const std::string& prefix, WeightLoader& loader);

  // The projections before and behind the mixer: `linear` of x [T, H] X to the workspace, and from
  // there to float32 [T, H], but for where that goes.
  LinearArgs input(const Step& step, const NormedRows& x) const;
  LinearArgs output(const Step& step) const;
  // What stands between them; kv_cache is this layer's pool. If no result is wanted, keys and
  // values still go there.
  void mix(const Step& step, const RopeBuffers& rope, void* kv_cache, bool wanted) const;

 private:
  int32_t num_heads_ = 0;     // nh
  int32_t num_kv_heads_ = 0;  // nkv
  int32_t head_dim_ = 0;      // hd
  int64_t hidden_size_ = 0;   // H
  float scale_ = 0.0F;        // hd^-0.5
  float eps_ = 0.0F;
  std::unique_ptr<LinearWeight> qkv_proj_;  // rows nh (q hd | gate hd) | k nkv hd | v nkv hd
  std::unique_ptr<LinearWeight> o_proj_;
  DeviceBuffer q_norm_;  // [hd]
  DeviceBuffer k_norm_;  // [hd]
};

}  // namespace deltaserve
