// How the kernel of one token's experts begins: the shared expert's rows of down on their way to
// shared memory, and the norm of the token's row.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/moe_one_args.cuh"
#include "backends/cuda/moe_one_meeting.cuh"
#include "backends/cuda/skinny_form.cuh"

namespace deltaserve::cuda {

// Asks for the shared expert's 16 rows of down that are this block's.
__device__ __forceinline__ void fetch_shared_down(const MoeOne& block, MoeOneShared& shared) {
  constexpr int kRowParts = kOneI / 8;
#pragma unroll
  for (int i = 0; i < kSkinnyRows * kRowParts / kOneThreads; ++i) {
    const int part = static_cast<int>(threadIdx.x) + i * kOneThreads;
    const int row = part / kRowParts;
    const int column = part % kRowParts * 8;
    __pipeline_memcpy_async(
        &shared.shared_down[row][column],
        block.shared_down + (int64_t{blockIdx.x} * kSkinnyRows + row) * kOneI + column,
        sizeof(uint4));
  }
  __pipeline_commit();
}

// The norm of the row into shared.x, in the order of add_rms_norm.cu. `factors` are this thread's
// four of the norm's weight.
__device__ __forceinline__ void norm_row(const MoeOne& block, const float (&factors)[4],
                                         MoeOneShared& shared) {
  const auto thread = static_cast<int>(threadIdx.x);
  uint32_t seen = 0;  // on its way with the residual, waited for when x is there
  if (thread == 0) {
    seen = take_ticket(block.meeting);
  }
  float values[4];
  load(block.residual + thread * 4, values);
  if (block.delta != nullptr) {
    float added[4];
    load(block.delta + thread * 4, added);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      values[j] += added[j];
    }
  }
  constexpr int kOwners = kSkinnyRows / 4;  // threads that hold this block's elements
  if (thread / kOwners == static_cast<int>(blockIdx.x)) {
    store(shared.before + thread % kOwners * 4, values);
  }
  float sum = 0.0F;
#pragma unroll
  for (const float value : values) {
    sum += value * value;
  }
  sum = warp_sum(sum);
  if (thread % kWarp == 0) {
    shared.partial[thread / kWarp] = sum;
  }
  __syncthreads();
  sum = warp_sum<kOneWarps>(shared.partial[thread % kOneWarps]);
  const float scale = 1.0F / sqrtf(sum / static_cast<float>(kOneH) + block.eps);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    values[j] *= scale * (1.0F + factors[j]);
  }
  store(shared.x + thread * 4, values);
  if (thread == 0) {
    asm volatile("" : "+r"(seen));  // or it is divided, and waited for, where it was asked for
    shared.launch = seen / kOneGrid + 1;
  }
  __pipeline_wait_prior(0);  // the shared expert's rows of down
  __syncthreads();
}

}  // namespace deltaserve::cuda
