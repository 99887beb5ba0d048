// moe_block against the reference's separate ops, over row counts that choose different kernels. A
// backend without it is tested through its own ops, as a model uses them.
#include <gtest/gtest.h>

#include <cmath>

#include "conformance.h"
#include "ops/reference/reference_backend.h"

namespace deltaserve {
namespace {

struct BlockShape {
  int64_t E;
  int64_t I;
  int64_t H;
  int32_t K;
  int64_t shared_I;
};

// [rows, columns] bfloat16 as a checkpoint has it.
struct Matrix {
  std::vector<BFloat16> values;
  TensorView view;

  Matrix(int64_t rows, int64_t columns, uint32_t seed) {
    const float scale = 1.0F / std::sqrt(static_cast<float>(columns));
    for (const float value : random_values(static_cast<size_t>(rows * columns), seed, scale)) {
      values.push_back(to_bfloat16(value));
    }
    view = {.dtype = DType::kBF16,
            .shape = {rows, columns},
            .data = reinterpret_cast<const std::byte*>(values.data())};
  }
};

struct BlockMatrices {
  std::vector<Matrix> experts;  // gate, up, down of each
  Matrix router;
  Matrix shared_gate, shared_up, shared_down;

  explicit BlockMatrices(const BlockShape& shape)
      : router(shape.E + 1, shape.H, 1),
        shared_gate(shape.shared_I, shape.H, 2),
        shared_up(shape.shared_I, shape.H, 3),
        shared_down(shape.H, shape.shared_I, 4) {
    for (int64_t e = 0; e < shape.E; ++e) {
      const auto seed = static_cast<uint32_t>(100 + 3 * e);
      experts.emplace_back(shape.I, shape.H, seed);
      experts.emplace_back(shape.I, shape.H, seed + 1);
      experts.emplace_back(shape.H, shape.I, seed + 2);
    }
  }
};

// The block by separate ops. `out` [T, H] takes what residual lacks at the end.
void run_ops(Backend& backend, const MoeBlockArgs& args, float* out) {
  backend.add_rms_norm({.T = args.T,
                        .H = args.H,
                        .residual = args.residual,
                        .delta = args.delta,
                        .weight = args.norm_weight,
                        .eps = args.eps,
                        .out = args.x});
  backend.linear({.M = args.T,
                  .x = args.x,
                  .x_stride = args.H,
                  .weight = args.router,
                  .out = args.logits,
                  .out_stride = args.logits_stride,
                  .out_float = true});
  backend.moe_topk({.T = args.T,
                    .E = static_cast<int32_t>(args.experts->E),
                    .K = args.K,
                    .logits = args.logits,
                    .logits_stride = args.logits_stride,
                    .renormalize = args.renormalize,
                    .expert_ids = args.expert_ids,
                    .weights = args.weights});
  backend.gate_up_silu({.M = args.T,
                        .x = args.x,
                        .x_stride = args.H,
                        .weight = args.shared_gate_up,
                        .out = args.inner,
                        .out_stride = args.inner_stride});
  backend.linear({.M = args.T,
                  .x = args.inner,
                  .x_stride = args.inner_stride,
                  .weight = args.shared_down,
                  .out = args.shared,
                  .out_stride = args.H,
                  .out_float = true});
  backend.moe({.T = args.T,
               .K = args.K,
               .x = args.x,
               .x_stride = args.H,
               .experts = args.experts,
               .expert_ids = args.expert_ids,
               .weights = args.weights,
               .shared = args.shared,
               .shared_gate = args.logits + args.experts->E,
               .shared_gate_stride = args.logits_stride,
               .out = out});
}

std::vector<float> run_block(Backend& backend, const BlockShape& shape,
                             const BlockMatrices& matrices, int64_t T, bool renormalize) {
  const DType x = backend.compute_dtype();
  const auto size = static_cast<size_t>(T * shape.H);
  std::vector<TensorView> views[3];
  for (size_t i = 0; i < matrices.experts.size(); ++i) {
    views[i % 3].push_back(matrices.experts[i].view);
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
  run_ops(backend, args, out.floats());
  std::vector<float> sum = residual.values();
  const std::vector<float> added = out.values();
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] += added[i];
  }
  return sum;
}

class MoeBlock : public testing::TestWithParam<BackendCase> {};

TEST_P(MoeBlock, MatchesSeparateOpsOfTheReference) {
  const auto backend = make_case_backend(GetParam());
  const auto reference = make_reference_backend(GetParam().x_dtype);
  // In bfloat16 a rounded input or inner product can fall to either side: a unit in some terms.
  const double tolerance = GetParam().x_dtype == DType::kF32 ? 5e-5 : 1e-2;
  for (const BlockShape& shape : {BlockShape{8, 64, 128, 2, 64}, BlockShape{16, 128, 192, 8, 192},
                                  BlockShape{290, 64, 64, 10, 64}, BlockShape{5, 72, 64, 3, 40}}) {
    const BlockMatrices matrices(shape);
    for (const int64_t T : {1, 3, 4, 5, 20, 33, 140}) {
      const bool renormalize = T != 3;
      expect_close(run_block(*backend, shape, matrices, T, renormalize),
                   run_block(*reference, shape, matrices, T, renormalize), 1e-5, tolerance,
                   std::to_string(T) + " tokens, E " + std::to_string(shape.E));
    }
  }
}

// A backend's scratch grows when an op first needs more, and the products of the shared expert may
// need more than the block did when it ran for one token: nothing of the block may be left behind
// there. With so large a step the memory given up goes back to the device.
TEST_P(MoeBlock, HoldsNothingInScratchThatItsOwnOpsMove) {
  BackendCase large = GetParam();
  large.max_tokens = 16384;
  const auto reference = make_reference_backend(large.x_dtype);
  const double tolerance = large.x_dtype == DType::kF32 ? 5e-5 : 1e-2;
  const BlockShape shape{8, 64, 256, 2, 64};
  const BlockMatrices matrices(shape);
  for (const int64_t T : {33, 128, 129, 200}) {
    const auto backend = make_case_backend(large);
    for (const int64_t tokens : {int64_t{1}, T}) {
      expect_close(run_block(*backend, shape, matrices, tokens, true),
                   run_block(*reference, shape, matrices, tokens, true), 1e-5, tolerance,
                   std::to_string(tokens) + " tokens");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MoeBlock, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
