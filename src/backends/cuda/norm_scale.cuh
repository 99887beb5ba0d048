// A norm without its scale (LinearNormArgs), as products of few rows make and take it: what is
// multiplied by 1 / rms of a row can be multiplied behind the product as well, so that no kernel
// stands between two products to wait for all of a row.
#pragma once

#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "ops/args.h"

namespace deltaserve::cuda {

// What becomes of a product's sums.
enum class ProductResult {
  kPlain,
  kGateUp,  // silu(gate) * up
  kNorm,    // added to the residual, and the norm of that but for its scale
};

// Where a product of kNorm leaves its results. A part of a row's squares is what one thread block,
// or cluster of them, has made of it.
struct NormRows {
  float* residual = nullptr;      // [M, H]
  const float* weight = nullptr;  // [H]
  bf16* out = nullptr;            // [M, H]
  float* squares = nullptr;       // [M, parts]
};

inline NormRows norm_rows(const LinearNormArgs& args) {
  return {.residual = args.residual,
          .weight = args.weight,
          .out = static_cast<bf16*>(args.out),
          .squares = args.squares};
}

// This thread's share of the squares of row m, if `thread` of `threads` ask for it together.
__device__ __forceinline__ float squares_share(const NormScale& scale, int m, int thread,
                                               int threads) {
  const auto* squares = reinterpret_cast<const float4*>(scale.squares + int64_t{m} * scale.parts);
  float sum = 0.0F;
  for (int i = thread; i < scale.parts / 4; i += threads) {
    const float4 part = squares[i];
    sum += (part.x + part.y) + (part.z + part.w);
  }
  return sum;
}

__device__ __forceinline__ float scale_of(const NormScale& scale, float sum) {
  return 1.0F / sqrtf(sum / static_cast<float>(scale.width) + scale.eps);
}

}  // namespace deltaserve::cuda
