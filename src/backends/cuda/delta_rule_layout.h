// Where the gated delta rule keeps its state. A slot of one layer is [Hv][dv][dk] float32: the
// transpose of the definition's, because a value column's row of dk numbers is what one step reads,
// multiplies with k and q, and writes; and because 64 such rows are an accumulator of the matrix
// unit that enters the next product from registers.
#pragma once

#include <cstdint>
#include <string>

#include "backends/cuda/cuda_context.h"

namespace deltaserve {

// First element of head h's row of value column v in slot `slot`.
__host__ __device__ constexpr int64_t delta_state_row(int64_t slot, int64_t h, int64_t v,
                                                      int64_t num_v_heads, int64_t dk, int64_t dv) {
  return ((slot * num_v_heads + h) * dv + v) * dk;
}

// Bytes of one slot of one layer.
constexpr int64_t delta_state_bytes(int64_t num_v_heads, int64_t dk, int64_t dv) {
  return delta_state_row(1, 0, 0, num_v_heads, dk, dv) * int64_t{sizeof(float)};
}

// Head sizes that a kernel here serves, the gated norm over dv among them: up to 256, in fours.
constexpr bool serves_delta_rule(int64_t dk, int64_t dv) {
  return dk > 0 && dk <= 256 && dk % 4 == 0 && dv > 0 && dv <= 256 && dv % 4 == 0;
}

// Whether this device and compute dtype have the chunked form whose operands are float16.
bool has_fp16_delta_rule(const CudaContext& context);

// What `doctor` says of the kernels that serve gated_delta_rule.
std::string delta_rule_kernels(const CudaContext& context);

}  // namespace deltaserve
