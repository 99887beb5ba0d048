// Two ops: the gated product of both input projections, and the output projection.
#include "model/mlp.h"

namespace deltaserve {

Mlp::Mlp(int64_t hidden_size, int64_t intermediate_size, const std::string& prefix,
         WeightLoader& loader)
    : hidden_size_(hidden_size), intermediate_size_(intermediate_size) {
  gate_up_ = loader.gate_up(prefix, intermediate_size_, hidden_size_);
  down_proj_ = loader.linear(prefix + "down_proj.weight", hidden_size_, intermediate_size_);
}

LinearArgs Mlp::run_gate_up(const Step& step, const NormedRows& x) const {
  void* inner = step.workspace.inner.data();
  const int64_t stride = row_stride(intermediate_size_);
  step.backend.gate_up_silu({.M = step.T,
                             .x = x.rows,
                             .x_stride = hidden_size_,
                             .weight = gate_up_.get(),
                             .out = inner,
                             .out_stride = stride,
                             .x_scale = x.scale});
  return {.M = step.T,
          .x = inner,
          .x_stride = stride,
          .weight = down_proj_.get(),
          .out_stride = hidden_size_,
          .out_float = true};
}

}  // namespace deltaserve
