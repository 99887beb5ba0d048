// One layer of the text model: a mixer, a feed-forward network and the norms before them.
#pragma once

#include <cstdint>
#include <variant>

#include "model/attention.h"
#include "model/gated_delta_net.h"
#include "model/mlp.h"
#include "model/moe.h"
#include "model/weight_loader.h"

namespace deltaserve {

struct DecoderLayer {
  DecoderLayer(const ModelConfig& config, int32_t index, WeightLoader& loader);
  DeviceBuffer input_norm;           // [H]
  DeviceBuffer post_attention_norm;  // [H]
  std::variant<std::monostate, GatedDeltaNet, Attention> mixer;
  std::variant<std::monostate, Mlp, Moe> ffn;

  // The mixer's projections (see there).
  LinearArgs input(const Step& step, const NormedRows& x) const;
  LinearArgs output(const Step& step) const;
};

}  // namespace deltaserve
