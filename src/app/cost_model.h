// The least a step must do: bytes that have to be read or written and floating-point operations,
// counted from the configuration. Times come from dividing by measured ceilings.
#pragma once

#include <cstdint>

#include "model/config.h"

namespace deltaserve {

struct StepCost {
  double bytes = 0.0;
  double flops = 0.0;  // two per multiply-add of matrices, attention and the delta rule
};

struct CostShape {
  int64_t num_seqs = 1;
  int64_t tokens_per_seq = 1;  // scheduled in this step
  int64_t context_len = 0;     // tokens before them
  int64_t logits_rows = 1;
  double bytes_per_weight = 2.0;
  double bytes_per_kv_element = 2.0;
};

// Elements of all matrices that a model holds, embeddings and biases left out.
double matrix_elements(const ModelConfig& config);

// Weights are read once a step whatever the batch; of the experts those that a uniform router would
// hit. The recurrent state is read and written once a sequence, KV read once a sequence.
StepCost step_cost(const ModelConfig& config, const CostShape& shape);

}  // namespace deltaserve
