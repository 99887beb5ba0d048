// causal_conv1d of the reference backend: width 4, state of the last three inputs.
#include <array>

#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {

void causal_conv1d(DType x_dtype, const CausalConv1dArgs& args) {
  const BatchView& batch = *args.batch;
  for (int64_t s = 0; s < batch.num_seqs; ++s) {
    float* state = args.conv_state + batch.state_slots[s] * 3 * args.C;
    const bool fresh = batch.context_lens[s] == 0;
    for (int64_t c = 0; c < args.C; ++c) {
      std::array<float, 3> last{};  // oldest first
      for (int64_t i = 0; i < 3 && !fresh; ++i) {
        last[static_cast<size_t>(i)] = state[i * args.C + c];
      }
      const float* w = args.weight + c * 4;
      std::array<float, 3> stored = last;
      for (int64_t t = batch.cu_seqlens[s]; t < batch.cu_seqlens[s + 1]; ++t) {
        const float x = load(x_dtype, args.x, t * args.x_stride + c);
        const float sum = w[0] * last[0] + w[1] * last[1] + w[2] * last[2] + w[3] * x;
        store(x_dtype, args.out, t * args.out_stride + c, silu(sum));
        last = {last[1], last[2], x};
        if (t < batch.cu_seqlens[s] + batch.stored_len(s)) {
          stored = last;
        }
      }
      for (int64_t i = 0; i < 3; ++i) {
        state[i * args.C + c] = stored[static_cast<size_t>(i)];
      }
    }
  }
}

}  // namespace deltaserve::reference
