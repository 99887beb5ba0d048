// The ring of tiles of vision_attention_wgmma.cu and the warp that brings them.
#pragma once

#include "backends/cuda/vision_wgmma_layout.cuh"

namespace deltaserve::cuda {

// A stage of the ring, and the parity of its barriers while it is used for this time.
struct VisionPlace {
  int stage = 0;
  uint32_t parity = 0;

  __device__ void next() {
    if (++stage == kVisionStages) {
      stage = 0;
      parity ^= 1U;
    }
  }
};

// By one thread: `rows` rows of a head from `row` on.
template <int Dims>
__device__ __forceinline__ void load_vision_rows(std::byte* to, int rows,
                                                 const CUtensorMap (&maps)[2], int head, int row,
                                                 uint32_t landed) {
  tensor_load(shared_address(to), maps[0], 0, head, row, landed);
  if constexpr (kVisionTail<Dims>) {
    tensor_load(shared_address(to + rows * kVisionWideBytes), maps[1], 64, head, row, landed);
  }
}

// By a warp: zeroes the rows of a tile from `first` on. They are another segment's: a weight of 0
// does not cover a NaN there.
template <int Dims>
__device__ void clear_vision_rows(std::byte* tile, int first) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto clear = [&](std::byte* from, int bytes) {
    for (int i = lane * 16; i < bytes; i += kWarp * 16) {
      *reinterpret_cast<uint4*>(from + i) = make_uint4(0, 0, 0, 0);
    }
  };
  clear(tile + first * kVisionWideBytes, (kVisionTileKeys - first) * kVisionWideBytes);
  if constexpr (kVisionTail<Dims>) {
    clear(tile + kVisionTileKeys * kVisionWideBytes + first * kVisionTailBytes,
          (kVisionTileKeys - first) * kVisionTailBytes);
  }
  async_proxy_fence();
  __syncwarp();
}

// The loading warp.
template <int Dims>
__device__ void load_vision_tiles(VisionShared<Dims>& shared, const VisionMaps& maps,
                                  const VisionWork& work) {
  const bool leads = threadIdx.x % kWarp == 0;
  if (leads) {
    const uint32_t landed = shared_address(&shared.query_landed);
    mbarrier_arrive_expect(landed, kVisionBlockRows * kVisionRowBytes<Dims>);
    for (int group = 0; group < kVisionGroups; ++group) {
      load_vision_rows<Dims>(shared.query[group], kVisionGroupRows, maps.query, work.head,
                             work.first_query + group * kVisionGroupRows, landed);
    }
  }
  VisionPlace place;
  const int tiles = work.tiles();
  for (int j = 0; j < tiles; ++j) {
    const int row = work.first_key + j * kVisionTileKeys;
    const uint32_t keys_landed = shared_address(&shared.keys_landed[place.stage]);
    const uint32_t values_landed = shared_address(&shared.values_landed[place.stage]);
    std::byte* const values = shared.values[place.stage];
    mbarrier_wait(shared_address(&shared.keys_freed[place.stage]), place.parity ^ 1U);
    if (leads) {
      mbarrier_arrive_expect(keys_landed, kVisionTileBytes<Dims>);
      load_vision_rows<Dims>(shared.keys[place.stage], kVisionTileKeys, maps.keys, work.head, row,
                             keys_landed);
    }
    mbarrier_wait(shared_address(&shared.values_freed[place.stage]), place.parity ^ 1U);
    const int valid = work.keys_of(j);
    const uint32_t landed =
        valid == kVisionTileKeys ? values_landed : shared_address(&shared.partial_landed);
    if (leads) {
      mbarrier_arrive_expect(landed, kVisionTileBytes<Dims>);
      load_vision_rows<Dims>(values, kVisionTileKeys, maps.values, work.head, row, landed);
    }
    __syncwarp();
    if (valid < kVisionTileKeys) {  // the last tile
      mbarrier_wait(landed, 0);
      clear_vision_rows<Dims>(values, valid);
      if (leads) {
        mbarrier_arrive(values_landed);
      }
    }
    place.next();
  }
}

__device__ __forceinline__ void free_stage(uint64_t& barrier) {
  __syncwarp();
  if (threadIdx.x % kWarp == 0) {
    mbarrier_arrive(shared_address(&barrier));
  }
}

}  // namespace deltaserve::cuda
