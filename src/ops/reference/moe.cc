// moe of the reference backend: the experts of a token in ascending id, one token at a time.
#include <vector>

#include "ops/reference/reference_ops.h"
#include "ops/reference/reference_weights.h"

namespace deltaserve::reference {

void moe(DType x_dtype, const MoeArgs& args) {
  const auto& experts = static_cast<const ReferenceExperts&>(*args.experts);
  const int64_t H = experts.H;
  const int64_t I = experts.I;
  std::vector<float> x(static_cast<size_t>(H));
  std::vector<float> gate(static_cast<size_t>(I));
  std::vector<float> up(static_cast<size_t>(I));
  std::vector<float> down(static_cast<size_t>(H));
  for (int64_t t = 0; t < args.T; ++t) {
    for (int64_t i = 0; i < H; ++i) {
      x[static_cast<size_t>(i)] = load(x_dtype, args.x, t * args.x_stride + i);
    }
    std::vector<double> sum(static_cast<size_t>(H), 0.0);
    for (int64_t j = 0; j < args.K; ++j) {
      const auto e = static_cast<size_t>(args.expert_ids[t * args.K + j]);
      vector_times_matrix(x.data(), experts.gate[e].data(), H, I, gate.data());
      vector_times_matrix(x.data(), experts.up[e].data(), H, I, up.data());
      for (size_t i = 0; i < gate.size(); ++i) {
        gate[i] = round_to(x_dtype, silu(gate[i]) * up[i]);
      }
      vector_times_matrix(gate.data(), experts.down[e].data(), I, H, down.data());
      for (size_t i = 0; i < down.size(); ++i) {
        sum[i] += static_cast<double>(args.weights[t * args.K + j]) * down[i];
      }
    }
    const float shared_weight = sigmoid(args.shared_gate[t * args.shared_gate_stride]);
    for (int64_t i = 0; i < H; ++i) {
      args.out[t * H + i] =
          static_cast<float>(sum[static_cast<size_t>(i)] +
                             static_cast<double>(shared_weight) * args.shared[t * H + i]);
    }
  }
}

}  // namespace deltaserve::reference
