// The heads of rope_attention.cu: queries of a row, normed and rotated, on their way to the tensor
// cores, and the new token's k and v on their way to the cache and to the attention of its row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/launch.h"
#include "backends/cuda/rope_attention_inputs.cuh"
#include "backends/cuda/rope_attention_layout.cuh"

namespace deltaserve::cuda {

// A lane's 8 dimensions of the new token's k, normed and rotated, and v, as they are stored.
struct NewToken {
  uint4 k;
  uint4 v;
};

__device__ __forceinline__ uint4 pack(const float (&x)[kDims]) {
  return make_uint4(pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3]), pack_bf16(x[4], x[5]),
                    pack_bf16(x[6], x[7]));
}

__device__ __forceinline__ void unpack(uint4 raw, float (&x)[kDims]) {
  const uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = unpack_bf16(words[i]);
    x[2 * i] = pair.x;
    x[2 * i + 1] = pair.y;
  }
}

// Norms and rotates the query heads of a kv head into shared memory, and the new k, which the warp
// that is `owner` writes to the cache with v.
template <int kCluster>
__device__ __forceinline__ NewToken make_heads(RopeShared<kCluster>& shared,
                                               const RopeAttentionParams& params,
                                               const RowInputs& inputs, int kv_head, bool owner) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const uint4 raw_q = *reinterpret_cast<const uint4*>(inputs.q);
  const uint4 raw_k = *reinterpret_cast<const uint4*>(inputs.k);
  NewToken token;
  token.v = *reinterpret_cast<const uint4*>(inputs.v);
  if (params.lets_next) {  // whose loads then come behind these and those of the cache
    let_next_start();
  }
  float heads[2][kDims];
  float factors[2][kDims];
  unpack(raw_q, heads[0]);
  unpack(raw_k, heads[1]);
#pragma unroll
  for (int i = 0; i < kDims; ++i) {
    factors[0][i] = inputs.q_factors[i];
    factors[1][i] = inputs.k_factors[i];
  }
  norm_and_rotate<true>(heads, factors, true, kHeadDim, params.rotary_half, params.eps,
                        shared.rotation, &shared.sums[0][0][warp * 2 * kMaxHeadDim]);
  *reinterpret_cast<uint4*>(&shared.query[warp][lane * kDims / 2]) = pack(heads[0]);
  token.k = pack(heads[1]);
  if (owner) {
    bf16* const k =
        params.kv_cache +
        kv_base(inputs.slot / kBlockSize, false, kv_head, params.num_kv_heads, kHeadDim) +
        kv_piece<true>(inputs.slot % kBlockSize, lane, kHeadDim);
    *reinterpret_cast<uint4*>(k) = token.k;
    *reinterpret_cast<uint4*>(k + kBlockSize * kHeadDim) = token.v;
  }
  __syncthreads();
  return token;
}

// Q as the second operand, as load_query gives it.
template <int kCluster>
__device__ __forceinline__ void take_query(const RopeShared<kCluster>& shared,
                                           uint32_t (&query)[1][kHeadDim / 16][2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  // 8 heads x 32 dimensions at a time; a lane names a row of 8 of them.
  const uint32_t from = shared_address(&shared.query[lane % 8][lane / 8 * 4]);
#pragma unroll
  for (int k = 0; k < kHeadDim / 16; k += 2) {
    uint32_t words[4];
    load_tiles(words, from + k * 32);
    query[0][k][0] = words[0];
    query[0][k][1] = words[1];
    query[0][k + 1][0] = words[2];
    query[0][k + 1][1] = words[3];
  }
}

// Puts the new token into its place of a KV block in shared memory, and zeroes behind it.
__device__ __forceinline__ void insert_token(std::byte* block, int place, const NewToken& token) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::byte* to = block + kv_piece<true>(place, lane, kHeadDim) * int64_t{sizeof(bf16)};
  *reinterpret_cast<uint4*>(to) = token.k;
  *reinterpret_cast<uint4*>(to + kHalfBytes) = token.v;
  clear_values(block, place + 1);
}

}  // namespace deltaserve::cuda
