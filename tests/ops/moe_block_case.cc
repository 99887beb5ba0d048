#include "moe_block_case.h"

#include "ops/moe_block.h"

namespace deltaserve {
std::vector<float> run_block(Backend& backend, const BlockShape& shape,
                             const BlockMatrices& matrices, int64_t T, bool renormalize) {
  const DType x = backend.compute_dtype();
  const auto size = static_cast<size_t>(T * shape.H);
  std::vector<TensorView> views[3];
  for (size_t i = 0; i < static_cast<size_t>(3 * shape.E); ++i) {
    views[i % 3].push_back(matrices.experts[i % matrices.experts.size()].view);
  }
  const TensorView routers[] = {matrices.router.view};
  const TensorView downs[] = {matrices.shared_down.view};
  const auto router = backend.make_linear(routers).value();
  const auto experts = backend.make_experts(views[0], views[1], views[2]).value();
  const auto gate_up =
      backend.make_gate_up(matrices.shared_gate.view, matrices.shared_up.view).value();
  const auto down = backend.make_linear(downs).value();
  const int64_t logits_stride = (shape.E + 1 + 31) / 32 * 32;
  DeviceTensor residual(backend, DType::kF32, random_values(size, 5));
  DeviceTensor delta(backend, DType::kF32, random_values(size, 6, 0.5F));
  DeviceTensor norm(backend, DType::kF32, random_values(static_cast<size_t>(shape.H), 7, 0.2F));
  DeviceTensor normed(backend, x, size);
  DeviceTensor logits(backend, DType::kF32, static_cast<size_t>(T * logits_stride));
  DeviceTensor weights(backend, DType::kF32, static_cast<size_t>(T * shape.K));
  DeviceArray<int32_t> ids(backend, std::vector<int32_t>(static_cast<size_t>(T * shape.K)));
  DeviceTensor inner(backend, x, static_cast<size_t>(T * shape.shared_I));
  DeviceTensor shared(backend, DType::kF32, size);
  const MoeBlockArgs args = {.T = T,
                             .H = shape.H,
                             .K = shape.K,
                             .renormalize = renormalize,
                             .residual = residual.floats(),
                             .delta = delta.floats(),
                             .norm_weight = norm.floats(),
                             .eps = 1e-6F,
                             .router = router.get(),
                             .experts = experts.get(),
                             .shared_gate_up = gate_up.get(),
                             .shared_down = down.get(),
                             .x = normed.data(),
                             .logits = logits.floats(),
                             .logits_stride = logits_stride,
                             .expert_ids = ids.data(),
                             .weights = weights.floats(),
                             .inner = inner.data(),
                             .inner_stride = shape.shared_I,
                             .shared = shared.floats()};
  if (backend.moe_block(args)) {
    return residual.values();
  }
  DeviceTensor out(backend, DType::kF32, size);
  run_moe_ops(backend, args, out.floats());
  std::vector<float> sum = residual.values();
  const std::vector<float> added = out.values();
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] += added[i];
  }
  return sum;
}

}  // namespace deltaserve
