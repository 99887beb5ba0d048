// Products of one expert's matrix with a few of its entries: skinny_tile.cuh with rows of x that
// are found through a list.
#pragma once

#include <cstdint>

#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/skinny_form.cuh"
#include "backends/cuda/skinny_tile.cuh"

namespace deltaserve::cuda {

struct ExpertProduct {
  const bf16* weight;  // [E][rows][columns]
  int64_t rows;
  int64_t columns;
  const bf16* x;  // [..][x_stride]
  int64_t x_stride;
  int32_t x_entries;  // entries that share a row of x: K of gate_up, 1 of down
  void* out;          // gate_up: [entries][out_stride] bf16; down: [entries][out_stride] float32
  int64_t out_stride;
};

// The rows of a thread block's tile times entries list[0 .. count), or 0 .. count without a list.
// Results go to rows / 2 columns of `out` as silu(gate) * up, or to `rows` as they are.
template <typename Form, bool kGateUp>
__device__ __forceinline__ void multiply_expert(const ExpertProduct& product, int expert,
                                                int64_t first_row, const int32_t* list, int count,
                                                SkinnySums<Form>& sums) {
  using Sums = SkinnySums<Form>;
  static_assert(Form::kTokenTiles == 1 && kGateUpGroup * 2 == kSkinnyRows);
  const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
  const bf16* rows[Form::kRowTiles][2];
#pragma unroll
  for (int r = 0; r < Form::kRowTiles; ++r) {
    rows[r][0] = product.weight +
                 (expert * product.rows + first_row + r * kSkinnyRows + g) * product.columns;
    rows[r][1] = rows[r][0] + 8 * product.columns;
  }
  for (int base = 0; base < count; base += kSkinnyTokens) {
    const bf16* x[1] = {nullptr};
    if (base + g < count) {
      const int entry = list == nullptr ? base + g : list[base + g];
      x[0] = product.x + entry / product.x_entries * product.x_stride;
    }
    skinny_products<Form>(rows, x, product.columns, sums);
    for (int i = static_cast<int>(threadIdx.x); i < Sums::kCount / (kGateUp ? 2 : 1);
         i += Form::kThreads) {
      const int e = kGateUp ? i / 2 * 4 + i % 2 : i;
      const int place = base + Sums::token(e);
      if (place >= count) {
        continue;
      }
      const int64_t entry = list == nullptr ? place : list[place];
      const int64_t row = first_row + Sums::row(e);
      if constexpr (kGateUp) {
        const int64_t column = row / kSkinnyRows * kGateUpGroup + row % kGateUpGroup;
        static_cast<bf16*>(product.out)[entry * product.out_stride + column] =
            from_float<bf16>(silu(sums.sum(e)) * sums.sum(e + 2));
      } else {
        static_cast<float*>(product.out)[entry * product.out_stride + row] = sums.sum(e);
      }
    }
    __syncthreads();
  }
}

}  // namespace deltaserve::cuda
