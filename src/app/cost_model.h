// The least a step must do: bytes that have to be read or written and floating-point operations,
// counted from the configuration. Times come from dividing by measured ceilings.
#pragma once

#include <cstdint>
#include <optional>

#include "model/config.h"
#include "model/quantization.h"

namespace deltaserve {

struct StepCost {
  double bytes = 0.0;
  double flops = 0.0;  // two per multiply-add of matrices, attention and the delta rule
};

// Bytes of an element of the matrices that quantisation changes, and of the head. Gates and routers
// keep two.
struct WeightBytes {
  double layers = 2.0;
  double head = 2.0;
};

struct CostShape {
  int64_t num_seqs = 1;
  int64_t tokens_per_seq = 1;  // scheduled in this step
  int64_t context_len = 0;     // tokens before them
  int64_t logits_rows = 1;
  WeightBytes weight_bytes = {};
  double bytes_per_kv_element = 2.0;
};

// Of weights as `quantization` has them, scales included; nothing: bfloat16.
WeightBytes weight_bytes(const std::optional<QuantizationConfig>& quantization);

// Weights are read once a step whatever the batch; of the experts those that a uniform router would
// hit. The recurrent state is read and written once a sequence, KV read once a sequence.
StepCost step_cost(const ModelConfig& config, const CostShape& shape);

}  // namespace deltaserve
