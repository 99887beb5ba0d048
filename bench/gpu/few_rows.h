// The kernels of products of few rows in all forms, and weights for them.
#pragma once

#include <optional>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/row_product.h"
#include "kernel_case.h"

namespace deltaserve::bench {

inline constexpr DType kX = DType::kBF16;
inline constexpr int64_t kMostRows = 2 * kMaxSkinnyRows;
static_assert(kMostRows >= kMaxStreamedRows);

// A set of kernels.
struct Form {
  const char* name;
  double sum_error;  // of float32 results, relative: wgmma adds with fewer bits
  bool (*serves)(const CudaContext& context, int64_t M, int64_t N, int64_t K);
  void (*linear)(CudaContext& context, const LinearArgs& args);
  void (*gate_up)(CudaContext& context, const GateUpSiluArgs& args);
  // Null for kernels that do not make norms.
  std::optional<NormScale> (*linear_norm)(CudaContext& context, const LinearNormArgs& args);
};

inline const Form kForms[] = {
    {"row", 1e-6,
     [](const CudaContext& context, int64_t M, int64_t, int64_t K) {
       return serves_row(context, M, K);
     },
     launch_row_linear, launch_row_gate_up_silu, launch_row_norm},
    {"skinny", 1e-6,
     [](const CudaContext&, int64_t M, int64_t N, int64_t K) { return serves_skinny(M, N, K); },
     launch_skinny_linear, launch_skinny_gate_up_silu, nullptr},
    {"streamed", 1e-5,
     [](const CudaContext& context, int64_t M, int64_t N, int64_t K) {
       return serves_streamed(context, M, N, K, nullptr, K);
     },
     launch_streamed_linear, launch_streamed_gate_up_silu, launch_streamed_norm}};

inline CudaLinear make_linear(const Pattern& pattern, int64_t N, int64_t K) {
  CudaLinear weight;
  weight.N = N;
  weight.K = K;
  weight.values = pattern.make(N * K);
  return weight;
}

inline int64_t padded_rows(int64_t I) {
  return (I + kGateUpGroup - 1) / kGateUpGroup * 2 * kGateUpGroup;
}

inline CudaGateUp make_gate_up(const Pattern& pattern, int64_t I, int64_t K) {
  CudaGateUp weight;
  weight.I = I;
  weight.K = K;
  weight.values = pattern.make(padded_rows(I) * K);
  return weight;
}

}  // namespace deltaserve::bench
