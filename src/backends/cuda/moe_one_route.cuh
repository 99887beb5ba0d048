// The first half of a block of experts for one token: 16 rows of the router or of the shared
// expert's gate and up by each thread block that has any, and the choice of the experts from what
// all of them publish.
#pragma once

#include <cstdint>

#include "backends/cuda/moe_choose.cuh"
#include "backends/cuda/moe_one_parts.cuh"

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
      publish(block.meeting->results + row, add_chains(shared.chains.route, lane));
    }
  } else if (lane < kGateUpGroup) {
    const float gate = add_chains(shared.chains.route, lane);
    const float up = add_chains(shared.chains.route, lane + kGateUpGroup);
    block.shared_act[tile.first / 2 + lane] = from_float<bf16>(silu(gate) * up);
  }
}

// The experts, by one warp, as soon as the router's results are there.
template <int kSlots>
__device__ __forceinline__ void choose(const MoeOne& block, MoeOneShared& shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const unsigned long long* results = block.meeting->results;
  unsigned long long words[kSlots];
  unsigned long long gate;
  bool all;
  do {
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      words[i] = look_at(results + min(lane + kWarp * i, block.E));
    }
    gate = look_at(results + block.E);
    all = is_there(gate);
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      all = all && is_there(words[i]);
    }
  } while (!__all_sync(kAllLanes, all));
  float x[kSlots];
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    x[i] = lane + kWarp * i < block.E ? published(words[i]) : -INFINITY;
  }
  choose_from(x, block.E, block.K, block.renormalize, shared.ids, shared.weights);
  if (lane == 0) {
    shared.gate = sigmoid(published(gate));
  }
}

}  // namespace deltaserve::cuda
