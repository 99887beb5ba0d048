// First part of the inverse of I + A: the blocks of 16 x 16 on its diagonal, by forward
// substitution in float32.
#pragma once

#include "backends/cuda/delta_rule_triangle.cuh"
#include "backends/cuda/mma.cuh"

namespace deltaserve::cuda {

// By 16 lanes, a column of the inverse each: the warp's diagonal block of -A becomes the transpose
// of that of T.
__device__ __forceinline__ void invert_diagonal(HeadScratch& scratch, int warp, int lane) {
  const int column = lane % 16;
  const float* block = scratch.diagonal[warp];
  float x[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    float even = i == column ? 1.0F : 0.0F;
    float odd = 0.0F;
#pragma unroll
    for (int k = 0; k < i; k += 4) {
      const float4 part = *reinterpret_cast<const float4*>(block + i * kDiagonalPitch + k);
      even += part.x * x[k];
      odd += k + 1 < i ? part.y * x[k + 1] : 0.0F;
      even += k + 2 < i ? part.z * x[k + 2] : 0.0F;
      odd += k + 3 < i ? part.w * x[k + 3] : 0.0F;
    }
    x[i] = even + odd;
  }
  char* to =
      scratch.lower + triangle_block(warp, warp) + column / 8 * (kBlockBytes / 2) + column % 8 * 16;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float* from = x + 8 * half;
    *reinterpret_cast<uint4*>(to + half * (kBlockBytes / 4)) =
        make_uint4(pack_half(from[0], from[1]), pack_half(from[2], from[3]),
                   pack_half(from[4], from[5]), pack_half(from[6], from[7]));
  }
}

}  // namespace deltaserve::cuda
