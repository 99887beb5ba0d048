// Rows of W in pieces of 512 bytes, 16 a lane, for products with one row of x.
#pragma once

#include <cstdint>

#include "backends/cuda/device_vectors.cuh"

namespace deltaserve::cuda {

inline constexpr int kRowPiece = kWarp * 8;  // elements

// sum += a lane's eight of a piece times those of x.
__device__ __forceinline__ void add_products(uint4 w, const float (&x)[8], float& sum) {
  const uint32_t words[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = unpack_bf16(words[i]);
    sum = fmaf(pair.x, x[2 * i], sum);
    sum = fmaf(pair.y, x[2 * i + 1], sum);
  }
}

}  // namespace deltaserve::cuda
