// How heads' rows lie in the shared memory of vision_attention_wgmma.cu. A row is its first 64
// dimensions in 128 bytes and, in heads above 64, 16 more in 32 bytes, both swizzled; the tensor
// copies fill them with zeros beyond the head.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/hopper.cuh"

namespace deltaserve::cuda {

inline constexpr int kVisionGroups = 2;  // warpgroups that compute
inline constexpr int kVisionGroupThreads = 128;
inline constexpr int kVisionComputeThreads = kVisionGroups * kVisionGroupThreads;
inline constexpr int kVisionThreads = kVisionComputeThreads + kVisionGroupThreads;
inline constexpr int kVisionGroupRows = 64;
inline constexpr int kVisionBlockRows = kVisionGroups * kVisionGroupRows;
inline constexpr int kVisionTileKeys = 128;
inline constexpr int kVisionStages = 4;                    // 160 KiB beside Q
inline constexpr int kVisionScores = kVisionTileKeys / 2;  // of a thread: 64 x 128 over 128 threads
inline constexpr int kVisionWideBytes = 128;               // of a row: its first 64 dimensions
inline constexpr int kVisionTailBytes = 32;                // the 16 after them
inline constexpr int kVisionFreeing = kVisionComputeThreads / kWarp;  // warps that free a stage

// Dims: 64, or 80 with a tail.
template <int Dims>
inline constexpr bool kVisionTail = Dims > 64;
template <int Dims>
inline constexpr int kVisionRowBytes =
    kVisionTail<Dims> ? kVisionWideBytes + kVisionTailBytes : kVisionWideBytes;
template <int Dims>
inline constexpr int kVisionTileBytes = kVisionTileKeys* kVisionRowBytes<Dims>;

// Of each tile first the wide parts of all rows, then the tails.
template <int Dims>
struct VisionShared {
  std::byte query[kVisionGroups][kVisionGroupRows * kVisionRowBytes<Dims>];
  std::byte keys[kVisionStages][kVisionTileBytes<Dims>];
  std::byte values[kVisionStages][kVisionTileBytes<Dims>];
  uint64_t query_landed;
  uint64_t partial_landed;
  uint64_t keys_landed[kVisionStages];
  uint64_t values_landed[kVisionStages];
  uint64_t keys_freed[kVisionStages];
  uint64_t values_freed[kVisionStages];
};

// The wide part and the tail of each operand.
struct VisionMaps {
  CUtensorMap query[2];
  CUtensorMap keys[2];
  CUtensorMap values[2];
};

// What a thread block does.
struct VisionWork {
  int head;
  int first_query;
  int end_query;  // of the segment: the block's last rows may lie beyond
  int first_key;
  int keys;

  __device__ int tiles() const { return max(1, (keys + kVisionTileKeys - 1) / kVisionTileKeys); }
  __device__ int keys_of(int tile) const {
    return min(kVisionTileKeys, keys - tile * kVisionTileKeys);
  }
};

}  // namespace deltaserve::cuda
