// The first half of a block of experts for one token: 16 rows of the router or of the shared
// expert's gate and up by each thread block that has any, and the choice of the experts from what
// all of them publish.
#pragma once

#include <cstdint>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/moe_one_args.cuh"
#include "backends/cuda/moe_one_choose.cuh"
#include "backends/cuda/moe_one_meeting.cuh"
#include "backends/cuda/moe_one_pieces.cuh"
#include "backends/cuda/skinny_form.cuh"

namespace deltaserve::cuda {

// 16 rows of the router, or else of the shared expert's gate and up.
struct RoutingTile {
  bool works;  // there are fewer tiles than thread blocks
  bool routes;
  int first;  // row of its matrix
};
__device__ __forceinline__ RoutingTile routing_tile(const MoeOne& block) {
  const int router_tiles = (block.router_rows + kSkinnyRows - 1) / kSkinnyRows;
  const auto tile = static_cast<int>(blockIdx.x);
  const bool routes = tile < router_tiles;
  return {.works = tile < router_tiles + kOneTiles,
          .routes = routes,
          .first = (routes ? tile : tile - router_tiles) * kSkinnyRows};
}

// The warp's chain of a routing tile: pieces warp and warp + 16. Rows beyond the router's last read
// the last.
__device__ __forceinline__ void load_routing(const MoeOne& block, const RoutingTile& tile,
                                             WeightRing& ring) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarp;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = tile.first + half * 8 + lane / 4;
    const bf16* from = tile.routes ? block.router + int64_t{min(row, block.router_rows - 1)} * kOneH
                                   : block.shared_gate_up + int64_t{row} * kOneH;
    from += thread / kWarp * kSkinnyPiece + lane % 4 * 8;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      ring[i / 2][half][i % 2] =
          load_once(from + i / 2 * kOneRouteChains * kSkinnyPiece + i % 2 * (kSkinnyPiece / 2));
    }
  }
}

__device__ __forceinline__ void multiply_routing(const MoeOne& block, const RoutingTile& tile,
                                                 const WeightRing& ring, MoeOneShared& shared) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  const bf16* x = shared.x + warp * kSkinnyPiece + lane % 4 * 8;
  float sums[4] = {};
  multiply_piece(ring[0], x, sums);
  multiply_piece(ring[1], x + kOneRouteChains * kSkinnyPiece, sums);
  keep_chain(sums, shared.chains.route[warp]);
  __syncthreads();
  if (warp != 0) {
    return;
  }
  if (tile.routes) {
    const int row = tile.first + lane;
    if (lane < kSkinnyRows && row < block.router_rows) {
      publish(block.meeting->results + row, shared.launch,
              __float_as_uint(add_chains(shared.chains.route, lane)));
    }
  } else {
    publish_act(shared.chains.route, block.meeting->shared_act + tile.first / 4, shared.launch);
  }
}

// The block's rows of the shared expert's down, chains.down[K], by eight warps while another one
// chooses.
__device__ __forceinline__ void multiply_shared_down(const MoeOne& block, MoeOneShared& shared) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp % kOneChains;
  const int lane = thread % kWarp;
  const int column = warp * kSkinnyPiece;
  MeetingWord word;
  do {
    word = look_at(block.meeting->shared_act + column / 2 + lane);
  } while (!is_of(word, shared.launch));
  *reinterpret_cast<uint32_t*>(shared.shared_act + column + lane * 2) = value_of(word);
  __syncwarp();
  WeightPiece piece;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    piece[i / 2][i % 2] = *reinterpret_cast<const uint4*>(
        &shared.shared_down[lane / 4 + i / 2 * 8]
                           [column + lane % 4 * 8 + i % 2 * (kSkinnyPiece / 2)]);
  }
  float sums[4] = {};
  multiply_piece(piece, shared.shared_act + column + lane % 4 * 8, sums);
  keep_chain(sums, shared.chains.down[block.K][warp]);
}

// The experts, by one warp, as soon as the router's results are there: x.
template <int kSlots>
__device__ __forceinline__ ExpertChoice choose(const MoeOne& block, MoeOneShared& shared,
                                               float (&x)[kSlots]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  MeetingWord words[kSlots];
  bool all;
  do {
    all = true;
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      words[i] = look_at(block.meeting->results + min(lane + kWarp * i, block.E - 1));
    }
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      all = all && is_of(words[i], shared.launch);
    }
  } while (!__all_sync(kAllLanes, all));
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    x[i] = __uint_as_float(value_of(words[i]));
  }
  return choose_ids(x, block.E, block.K, shared.ids);
}

// The weights of the chosen experts and of the shared one, by the same warp.
template <int kSlots>
__device__ __forceinline__ void weigh(const MoeOne& block, MoeOneShared& shared, float (&x)[kSlots],
                                      const ExpertChoice& choice) {
  weigh_chosen(x, choice, block.E, block.renormalize, shared.weights);
  if (threadIdx.x == 0) {
    MeetingWord gate;
    do {
      gate = look_at(block.meeting->results + block.E);
    } while (!is_of(gate, shared.launch));
    shared.gate = sigmoid(__uint_as_float(value_of(gate)));
  }
}

}  // namespace deltaserve::cuda
