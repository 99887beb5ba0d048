// The inner product of matrices with few rows of x: a thread block multiplies 16 kRowTiles rows of
// W with 8 kTokenTiles rows of x, reading W once at the speed of memory.
//
// The warps take 64-wide pieces of K in turn. Lane (g, t) loads 16-byte pieces t and t + 4 of rows
// g and g + 8 straight into the first operand of the tensor core's product, and the same pieces of
// x's row g into the second: both see K in the same permuted order, which a sum does not mind. No
// shared memory for W, and nothing to wait for but the loads. The warps' sums meet in warp order,
// so the order of a result's sum depends on K only.
#pragma once

#include <cstdint>

#include "backends/cuda/launch.h"
#include "backends/cuda/mma_bf16.cuh"
#include "backends/cuda/skinny_form.cuh"

namespace deltaserve::cuda {

// `rows`: this lane's rows g and g + 8 of each tile of W; `x`: its row g of each tile of x or null,
// which counts as zero. K is a multiple of kSkinnyPiece. Waits for the kernels before this one when
// W is under way. Ends with a barrier.
template <typename Form>
__device__ __forceinline__ void skinny_products(const bf16* const (&rows)[Form::kRowTiles][2],
                                                const bf16* const (&x)[Form::kTokenTiles],
                                                int64_t K, SkinnySums<Form>& sums) {
  constexpr int kRowTiles = Form::kRowTiles;
  constexpr int kTokenTiles = Form::kTokenTiles;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  struct Pieces {
    uint4 w[kRowTiles][2][2];  // tile, row g or g + 8, piece t or t + 4
    uint4 x[kTokenTiles][2];
  };
  const int first = warp * kSkinnyPiece + lane % 4 * 8;
  const bf16* w_at[kRowTiles][2];
  const bf16* x_at[kTokenTiles];
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
    w_at[r][0] = rows[r][0] + first;
    w_at[r][1] = rows[r][1] + first;
  }
#pragma unroll
  for (int m = 0; m < kTokenTiles; ++m) {
    x_at[m] = x[m] == nullptr ? nullptr : x[m] + first;
  }
  // Load this warp's next piece of K.
  constexpr int kStep = Form::kWarps * kSkinnyPiece;
  const auto load_w = [&](Pieces& to) {
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        to.w[r][half][0] = load_once(w_at[r][half]);
        to.w[r][half][1] = load_once(w_at[r][half] + kSkinnyPiece / 2);
        w_at[r][half] += kStep;
      }
    }
  };
  const auto load_x = [&](Pieces& to) {
#pragma unroll
    for (int m = 0; m < kTokenTiles; ++m) {
      to.x[m][0] = make_uint4(0, 0, 0, 0);
      to.x[m][1] = make_uint4(0, 0, 0, 0);
      if (x_at[m] != nullptr) {
        to.x[m][0] = *reinterpret_cast<const uint4*>(x_at[m]);
        to.x[m][1] = *reinterpret_cast<const uint4*>(x_at[m] + kSkinnyPiece / 2);
        x_at[m] += kStep;
      }
    }
  };
  float out[kRowTiles][kTokenTiles][4] = {};
  int left = (static_cast<int>(K / kSkinnyPiece) - warp + Form::kWarps - 1) / Form::kWarps;
  const auto multiply = [&](const Pieces& pieces) {
#pragma unroll
    for (int m = 0; m < kTokenTiles; ++m) {
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
        for (int p = 0; p < 2; ++p) {
          const uint4 low = pieces.w[r][0][p];
          const uint4 high = pieces.w[r][1][p];
          const uint4 b = pieces.x[m][p];
          mma_bf16(out[r][m], low.x, high.x, low.y, high.y, b.x, b.y);
          mma_bf16(out[r][m], low.z, high.z, low.w, high.w, b.z, b.w);
        }
      }
    }
  };
  Pieces even;
  if (left > 0) {
    load_w(even);
  }
  wait_for_previous_behind_loads(K < 0);
  if constexpr (Form::kAhead) {
    // Two sets of registers that take turns: what is copied from one to the other is waited for.
    Pieces odd;
    if (left > 0) {
      load_x(even);
    }
#pragma unroll 1
    for (; left > 0; left -= 2) {
      if (left > 1) {
        load_w(odd);
        load_x(odd);
      }
      multiply(even);
      if (left > 2) {
        load_w(even);
        load_x(even);
      }
      if (left > 1) {
        multiply(odd);
      }
    }
  } else {
#pragma unroll 2  // most warps have an even number: in what is left over ptxas asks for x by halves
    for (; left > 0; --left) {
      load_x(even);
      multiply(even);
      if (left > 1) {
        load_w(even);
      }
    }
  }
  let_next_start();
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
    for (int m = 0; m < kTokenTiles; ++m) {
      float* to = &sums.partial[warp][((r * kTokenTiles + m) * kWarp + lane) * 4];
      *reinterpret_cast<float4*>(to) =
          make_float4(out[r][m][0], out[r][m][1], out[r][m][2], out[r][m][3]);
    }
  }
  __syncthreads();
}

}  // namespace deltaserve::cuda
