// What fixed_product.cu makes of the sums of a tile, and where it stores them.
#pragma once

#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/fixed_product.cuh"
#include "backends/cuda/vision_activation.cuh"
#include "backends/cuda/wide_product.cuh"

namespace deltaserve::cuda {

// What is made of the sums: as they are, in float32 or bfloat16, or with bias and activation, or
// silu(gate) * up of rows g and g + 8 of every 16 rows of W, in bfloat16.
enum class FixedResult { kFloat, kBf16, kGateUp, kBiasFloat, kBiasBf16 };

template <FixedResult kResult>
inline constexpr bool kHasBias =
    kResult == FixedResult::kBiasFloat || kResult == FixedResult::kBiasBf16;
template <FixedResult kResult>
inline constexpr bool kIsFloat =
    kResult == FixedResult::kFloat || kResult == FixedResult::kBiasFloat;

// Two neighbouring columns of a row of out in bfloat16.
__device__ __forceinline__ void store_pair(const FixedParams& params, int token, int column,
                                           uint32_t pair) {
  if (token >= params.M || column >= params.columns) {
    return;
  }
  bf16* const to = static_cast<bf16*>(params.out) + token * params.out_stride + column;
  if (params.pairs) {
    *reinterpret_cast<uint32_t*>(to) = pair;
    return;
  }
  const float2 values = unpack_bf16(pair);
  to[0] = from_float<bf16>(values.x);
  if (column + 1 < params.columns) {
    to[1] = from_float<bf16>(values.y);
  }
}

// A thread holds rows g and g + 8 of its warp's 16, and tokens 8 p + 2 t and the next.
template <typename Form, FixedResult kResult>
__device__ __forceinline__ void store_tile(const FixedParams& params, int first_row,
                                           int first_token, const float (&sums)[Form::kSums]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int row = first_row + static_cast<int>(threadIdx.x) / kWarp * 16;
  float bias[2] = {};  // of rows g and g + 8
  if constexpr (kHasBias<kResult>) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = row + lane / 4 + half * 8;
      bias[half] = column < params.columns ? params.bias[column] : 0.0F;
    }
  }
#pragma unroll
  for (int p = 0; p < Form::kTokens / 8; ++p) {
    float c[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      c[i] = sums[4 * p + i];
      if constexpr (kHasBias<kResult>) {
        c[i] = activate(params.activation, c[i] + bias[i / 2]);
      }
    }
    if constexpr (kIsFloat<kResult>) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int token = first_token + 8 * p + lane % 4 * 2 + i % 2;
        const int column = row + lane / 4 + i / 2 * 8;
        if (token < params.M && column < params.columns) {
          static_cast<float*>(params.out)[token * params.out_stride + column] = c[i];
        }
      }
    } else {
      const int token = first_token + 8 * p + lane / 4;  // after a transpose
      const int column = lane % 4 * 2;
      if constexpr (kResult == FixedResult::kGateUp) {
        const uint32_t pair = transpose_tile(pack_bf16(gated(c[0], c[2]), gated(c[1], c[3])));
        store_pair(params, token, row / 2 + column, pair);
      } else {
        const uint32_t low = transpose_tile(pack_bf16(c[0], c[1]));
        const uint32_t high = transpose_tile(pack_bf16(c[2], c[3]));
        store_pair(params, token, row + column, low);
        store_pair(params, token, row + 8 + column, high);
      }
    }
  }
}

}  // namespace deltaserve::cuda
