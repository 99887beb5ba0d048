// embed, linear, gate_up_silu and moe against the reference, over row counts that choose different
// kernels and widths that are no multiples of a tile.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "backend_pair.h"

namespace deltaserve {
namespace {

// A weight as a checkpoint has it: bfloat16, or float32.
struct HostMatrix {
  std::vector<std::byte> bytes;
  TensorView view;

  HostMatrix(DType dtype, int64_t rows, int64_t columns, uint32_t seed) {
    const auto count = static_cast<size_t>(rows * columns);
    const auto values = random_values(count, seed, 1.0F / std::sqrt(static_cast<float>(columns)));
    bytes.resize(count * static_cast<size_t>(dtype_size(dtype)));
    for (size_t i = 0; i < count; ++i) {
      if (dtype == DType::kF32) {
        std::memcpy(&bytes[i * sizeof(float)], &values[i], sizeof(float));
      } else {
        const BFloat16 rounded = to_bfloat16(values[i]);
        std::memcpy(&bytes[i * sizeof(BFloat16)], &rounded, sizeof(BFloat16));
      }
    }
    view = {.dtype = dtype, .shape = {rows, columns}, .data = bytes.data()};
  }
};

class MatrixOps : public BackendPair {};

// Sums of some hundred products of order one, in another order.
constexpr double kSumTolerance = 1e-5;

std::vector<float> run_linear(Backend& backend, const std::vector<TensorView>& parts, int64_t M,
                              bool out_float) {
  const auto weight = backend.make_linear(parts).value();
  const int64_t x_stride = weight->K + 32;  // rows of a wider buffer
  const int64_t out_stride = (weight->N + 31) / 32 * 32;
  const DType x = backend.compute_dtype();
  DeviceTensor in(backend, x, random_values(static_cast<size_t>(M * x_stride), 1));
  DeviceTensor out(backend, out_float ? DType::kF32 : x, static_cast<size_t>(M * out_stride));
  backend.linear({.M = M,
                  .x = in.data(),
                  .x_stride = x_stride,
                  .weight = weight.get(),
                  .out = out.data(),
                  .out_stride = out_stride,
                  .out_float = out_float});
  return out.values();
}

TEST_P(MatrixOps, Linear) {
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    for (const auto& [N, K] : {std::pair{64, 64}, std::pair{257, 256}, std::pair{96, 576},
                               std::pair{520, 512}, std::pair{40, 72}, std::pair{4104, 128}}) {
      const HostMatrix top(dtype, N, K, 11);
      const HostMatrix bottom(dtype, 24, K, 12);
      const std::vector<TensorView> parts = {top.view, bottom.view};
      for (const int64_t M : {1, 5, 16, 17, 70}) {
        const std::string what = std::to_string(M) + " x " + std::to_string(N) + " x " +
                                 std::to_string(K) + " " + std::string(dtype_name(dtype));
        expect_close(run_linear(*backend_, parts, M, true), run_linear(*reference_, parts, M, true),
                     kSumTolerance, kSumTolerance, what + ", float32 out");
        expect_close(run_linear(*backend_, parts, M, false),
                     run_linear(*reference_, parts, M, false), tolerance_, kSumTolerance, what);
      }
    }
  }
}

std::vector<float> run_gate_up(Backend& backend, const HostMatrix& gate, const HostMatrix& up,
                               int64_t M) {
  const auto weight = backend.make_gate_up(gate.view, up.view).value();
  const int64_t out_stride = (weight->I + 31) / 32 * 32;
  const DType x = backend.compute_dtype();
  DeviceTensor in(backend, x, random_values(static_cast<size_t>(M * weight->K), 2));
  DeviceTensor out(backend, x, static_cast<size_t>(M * out_stride));
  backend.gate_up_silu({.M = M,
                        .x = in.data(),
                        .x_stride = weight->K,
                        .weight = weight.get(),
                        .out = out.data(),
                        .out_stride = out_stride});
  return out.values();
}

// out += x Wᵀ from a start of order one; by way of linear where the backend does not add.
std::vector<float> run_add_linear(Backend& backend, const TensorView& matrix, int64_t M) {
  const TensorView parts[] = {matrix};
  const auto weight = backend.make_linear(parts).value();
  const auto count = static_cast<size_t>(M * weight->N);
  const DType x = backend.compute_dtype();
  DeviceTensor in(backend, x, random_values(static_cast<size_t>(M * weight->K), 2));
  DeviceTensor sum(backend, DType::kF32, random_values(count, 3));
  DeviceTensor product(backend, DType::kF32, count);
  LinearArgs args = {.M = M,
                     .x = in.data(),
                     .x_stride = weight->K,
                     .weight = weight.get(),
                     .out = sum.data(),
                     .out_stride = weight->N,
                     .out_float = true};
  if (backend.add_linear(args)) {
    return sum.values();
  }
  args.out = product.data();
  backend.linear(args);
  std::vector<float> values = sum.values();
  const std::vector<float> added = product.values();
  for (size_t i = 0; i < count; ++i) {
    values[i] += added[i];
  }
  return values;
}

TEST_P(MatrixOps, AddLinear) {
  const HostMatrix matrix(DType::kBF16, 136, 192, 4);
  for (const int64_t M : {1, 20, 200, 256, 300, 700}) {
    expect_close(run_add_linear(*backend_, matrix.view, M),
                 run_add_linear(*reference_, matrix.view, M), kSumTolerance, kSumTolerance,
                 std::to_string(M) + " rows");
  }
}

TEST_P(MatrixOps, GateUpSilu) {
  for (const auto& [I, K] : {std::pair{64, 64}, std::pair{136, 256}, std::pair{100, 128},
                             std::pair{608, 320}, std::pair{2060, 128}}) {
    const HostMatrix gate(DType::kBF16, I, K, 21);
    const HostMatrix up(DType::kBF16, I, K, 22);
    for (const int64_t M : {1, 8, 16, 19, 70}) {
      expect_close(run_gate_up(*backend_, gate, up, M), run_gate_up(*reference_, gate, up, M),
                   tolerance_, kSumTolerance,
                   std::to_string(M) + " x " + std::to_string(I) + " x " + std::to_string(K));
    }
  }
}

// Matrices whose rows are shared out in all ways that a kernel for few rows of x may have.
TEST_P(MatrixOps, FewRowsOfLargeMatrices) {
  // Fewer pieces of K than parts, no multiple of either, several rounds of rows.
  for (const auto& [N, K] : {std::pair{8200, 128}, std::pair{5000, 1408}, std::pair{2056, 640},
                             std::pair{36'100, 128}, std::pair{42'024, 64}}) {
    const HostMatrix matrix(DType::kBF16, N, K, 25);
    for (const int64_t M : {2, 9, 32}) {
      expect_close(run_linear(*backend_, {matrix.view}, M, true),
                   run_linear(*reference_, {matrix.view}, M, true), kSumTolerance, kSumTolerance,
                   std::to_string(M) + " x " + std::to_string(N));
    }
  }
  for (const int64_t K : {64, 384}) {
    const HostMatrix gate(DType::kBF16, 17'000, K, 26);
    const HostMatrix up(DType::kBF16, 17'000, K, 27);
    expect_close(run_gate_up(*backend_, gate, up, 19), run_gate_up(*reference_, gate, up, 19),
                 tolerance_, kSumTolerance, "19 x 17,000 x " + std::to_string(K) + ", gate and up");
  }
}

// Widths that a row of W has as a whole in some kernels, and numbers of rows that end no tile.
TEST_P(MatrixOps, OneRow) {
  for (const auto& [N, K] :
       {std::pair{21, 1024}, std::pair{37, 2048}, std::pair{37, 4096}, std::pair{1, 4096}}) {
    const HostMatrix matrix(DType::kBF16, N, K, 28);
    const std::string what = std::to_string(N) + " x " + std::to_string(K);
    expect_close(run_linear(*backend_, {matrix.view}, 1, true),
                 run_linear(*reference_, {matrix.view}, 1, true), kSumTolerance, kSumTolerance,
                 what);
    expect_close(run_linear(*backend_, {matrix.view}, 1, false),
                 run_linear(*reference_, {matrix.view}, 1, false), tolerance_, kSumTolerance, what);
  }
}

TEST_P(MatrixOps, GateUpSiluOfManyRows) {
  const HostMatrix gate(DType::kBF16, 136, 192, 23);
  const HostMatrix up(DType::kBF16, 136, 192, 24);
  expect_close(run_gate_up(*backend_, gate, up, 1090), run_gate_up(*reference_, gate, up, 1090),
               tolerance_, kSumTolerance, "1090 rows");
}

TEST_P(MatrixOps, Embed) {
  const HostMatrix table(DType::kBF16, 300, 192, 31);
  const std::vector<int32_t> ids = {0, 299, 17, 17, 150};
  const auto run = [&](Backend& backend) {
    const auto weight = backend.make_embedding(table.view).value();
    DeviceArray<int32_t> device_ids(backend, ids);
    DeviceTensor out(backend, DType::kF32, ids.size() * 192);
    backend.embed({.T = static_cast<int64_t>(ids.size()),
                   .ids = device_ids.data(),
                   .table = weight.get(),
                   .out = out.floats()});
    return out.values();
  };
  expect_same_bits(run(*backend_), run(*reference_), "embed");
}

struct MoeShape {
  int64_t E;
  int64_t I;
  int64_t H;
  int32_t K;
};

// `same` sends all tokens to the same experts.
std::vector<float> run_moe(Backend& backend, const MoeShape& shape,
                           const std::vector<HostMatrix>& matrices, int64_t T, bool same) {
  std::vector<TensorView> views[3];
  for (size_t i = 0; i < matrices.size(); ++i) {
    views[i % 3].push_back(matrices[i].view);
  }
  const auto experts = backend.make_experts(views[0], views[1], views[2]).value();
  std::mt19937 random(4);
  std::vector<int32_t> all(static_cast<size_t>(shape.E));
  std::iota(all.begin(), all.end(), 0);
  std::vector<int32_t> ids;
  for (int64_t t = 0; t < T; ++t) {
    if (!same) {
      std::shuffle(all.begin(), all.end(), random);
    }
    std::vector<int32_t> chosen(all.begin(), all.begin() + shape.K);
    std::sort(chosen.begin(), chosen.end());
    ids.insert(ids.end(), chosen.begin(), chosen.end());
  }
  const auto rows = static_cast<size_t>(T);
  const auto H = static_cast<size_t>(shape.H);
  std::vector<float> weights = random_values(rows * static_cast<size_t>(shape.K), 6, 0.2F);
  DeviceTensor x(backend, backend.compute_dtype(), random_values(rows * H, 5));
  DeviceArray<int32_t> device_ids(backend, ids);
  DeviceTensor device_weights(backend, DType::kF32, weights);
  DeviceTensor shared(backend, DType::kF32, random_values(rows * H, 7));
  DeviceTensor shared_gate(backend, DType::kF32, random_values(rows * 3, 8));
  DeviceTensor out(backend, DType::kF32, rows * H);
  backend.moe({.T = T,
               .K = shape.K,
               .x = x.data(),
               .x_stride = shape.H,
               .experts = experts.get(),
               .expert_ids = device_ids.data(),
               .weights = device_weights.floats(),
               .shared = shared.floats(),
               .shared_gate = shared_gate.floats(),
               .shared_gate_stride = 3,
               .out = out.floats()});
  return out.values();
}

TEST_P(MatrixOps, Moe) {
  for (const MoeShape& shape :
       {MoeShape{8, 64, 128, 2}, MoeShape{16, 128, 192, 8}, MoeShape{5, 72, 64, 3}}) {
    std::vector<HostMatrix> matrices;
    for (int64_t e = 0; e < shape.E; ++e) {
      const auto seed = static_cast<uint32_t>(100 + 3 * e);
      matrices.emplace_back(DType::kBF16, shape.I, shape.H, seed);
      matrices.emplace_back(DType::kBF16, shape.I, shape.H, seed + 1);
      matrices.emplace_back(DType::kBF16, shape.H, shape.I, seed + 2);
    }
    for (const int64_t T : {1, 7, 33, 140}) {
      for (const bool same : {false, true}) {
        // The rounding of the inner product can fall to either side: one unit of X in one term.
        expect_close(run_moe(*backend_, shape, matrices, T, same),
                     run_moe(*reference_, shape, matrices, T, same), 2e-5,
                     x_ == DType::kF32 ? 2e-5 : 4e-3,
                     std::to_string(T) + " tokens, E " + std::to_string(shape.E));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatrixOps, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return case_name(test.param); });

}  // namespace
}  // namespace deltaserve
