// vision_attention on tensor cores: a block takes 64 query rows of one head, 16 a warp, and goes
// through the keys of their segment 64 at a time with a running softmax in float32. Probabilities
// enter the second product as a sum of two bfloat16, so that only the output is rounded.
#include <cmath>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/mma.cuh"
#include "backends/cuda/mma_bf16.cuh"
#include "backends/cuda/vision_ops.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;
constexpr int kWarpRows = 16;
constexpr int kBlockRows = kWarps * kWarpRows;
constexpr int kTileKeys = 64;
constexpr int kKeyTiles = kTileKeys / 8;  // of 8 keys, an mma's columns
constexpr int kPadding = 8;               // elements after a row: rows begin in different banks

template <int HeadDim>
struct Tile {
  static constexpr int kStride = HeadDim + kPadding;
  alignas(16) bf16 keys[kTileKeys * kStride];
  alignas(16) bf16 values[kTileKeys * kStride];
};

// One head of a segment's keys or values: rows of `stride` elements, 16-byte pieces.
template <int HeadDim>
__device__ void load_tile(bf16* to, const bf16* from, int64_t stride, int rows, int head_dim) {
  constexpr int kPieces = HeadDim / 8;
  for (int i = static_cast<int>(threadIdx.x); i < kTileKeys * kPieces; i += kThreads) {
    const int row = i / kPieces;
    const int column = i % kPieces * 8;
    uint4 piece = make_uint4(0, 0, 0, 0);
    if (row < rows && column < head_dim) {
      piece = *reinterpret_cast<const uint4*>(from + row * stride + column);
    }
    *reinterpret_cast<uint4*>(to + row * Tile<HeadDim>::kStride + column) = piece;
  }
}

// The warp's 16 query rows as A fragments; rows beyond `last` repeat it.
template <int HeadDim>
__device__ void load_queries(uint32_t (&fragments)[HeadDim / 16][4], const bf16* q, int64_t stride,
                             int first, int last, int head_dim) {
  const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
  const int t = static_cast<int>(threadIdx.x) % 4;
  const bf16* low = q + int64_t{min(first + g, last)} * stride;
  const bf16* high = q + int64_t{min(first + g + 8, last)} * stride;
#pragma unroll
  for (int k = 0; k < HeadDim / 16; ++k) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = k * 16 + half * 8 + 2 * t;
      const bool inside = column < head_dim;
      fragments[k][2 * half] = inside ? *reinterpret_cast<const uint32_t*>(low + column) : 0;
      fragments[k][2 * half + 1] = inside ? *reinterpret_cast<const uint32_t*>(high + column) : 0;
    }
  }
}

// Scores of 16 rows and 64 keys, in units of the binary logarithm; -infinity beyond `rows` keys.
template <int HeadDim>
__device__ void score_tile(float (&scores)[kKeyTiles][4], const uint32_t (&q)[HeadDim / 16][4],
                           const bf16* keys, float scale, int rows) {
  const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
  const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int n = 0; n < kKeyTiles; ++n) {
    float sum[4] = {};
    const bf16* row = keys + (n * 8 + g) * Tile<HeadDim>::kStride + 2 * t;
#pragma unroll
    for (int k = 0; k < HeadDim / 16; ++k) {
      mma_bf16(sum, q[k][0], q[k][1], q[k][2], q[k][3],
               *reinterpret_cast<const uint32_t*>(row + k * 16),
               *reinterpret_cast<const uint32_t*>(row + k * 16 + 8));
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      scores[n][j] = n * 8 + 2 * t + j % 2 < rows ? sum[j] * scale : -INFINITY;
    }
  }
}

// A lane's share of the running softmax: rows g (0) and g + 8 (1).
struct Softmax {
  float largest[2] = {-INFINITY, -INFINITY};
  float total[2] = {};
};

// Turns scores into weights and returns by what earlier outputs shrink. Every tile has a key.
__device__ void update_softmax(float (&scores)[kKeyTiles][4], Softmax& softmax,
                               float (&shrink)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float largest = softmax.largest[r];
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
      largest = fmaxf(largest, fmaxf(scores[n][2 * r], scores[n][2 * r + 1]));
    }
    largest = warp_max<4>(largest);
    shrink[r] = exp2_fast(softmax.largest[r] - largest);
    float sum = 0.0F;
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
      for (int j = 2 * r; j < 2 * r + 2; ++j) {
        scores[n][j] = exp2_fast(scores[n][j] - largest);
        sum += scores[n][j];
      }
    }
    softmax.total[r] = softmax.total[r] * shrink[r] + warp_sum<4>(sum);
    softmax.largest[r] = largest;
  }
}

// out += weights values.
template <int HeadDim>
__device__ void add_values(float (&out)[HeadDim / 8][4], const float (&weights)[kKeyTiles][4],
                           const bf16* values) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(values));
#pragma unroll
  for (int k = 0; k < kTileKeys / 16; ++k) {
    uint32_t high[4];
    uint32_t low[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float a = weights[2 * k + i / 2][i % 2 * 2];
      const float b = weights[2 * k + i / 2][i % 2 * 2 + 1];
      high[i] = pack_bf16(a, b);
      const float2 rounded = unpack_bf16(high[i]);
      low[i] = pack_bf16(a - rounded.x, b - rounded.y);
    }
#pragma unroll
    for (int n = 0; n < HeadDim / 16; ++n) {
      uint32_t tiles[4];
      const int row = k * 16 + lane % 16;
      const int column = n * 16 + lane / 16 * 8;
      load_tiles_transposed(
          tiles, base + 2U * static_cast<uint32_t>(row * Tile<HeadDim>::kStride + column));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        mma_bf16(out[2 * n + half], high[0], high[1], high[2], high[3], tiles[2 * half],
                 tiles[2 * half + 1]);
        mma_bf16(out[2 * n + half], low[0], low[1], low[2], low[3], tiles[2 * half],
                 tiles[2 * half + 1]);
      }
    }
  }
}

template <int HeadDim>
__global__ void __launch_bounds__(kThreads) attend_tiles(VisionAttentionArgs args) {
  constexpr float kLog2E = 1.44269504F;
  __shared__ Tile<HeadDim> tile;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int last = args.cu_queries[blockIdx.z + 1] - 1;
  const int block_first = args.cu_queries[blockIdx.z] + static_cast<int>(blockIdx.x) * kBlockRows;
  if (block_first > last) {
    return;
  }
  const int first = block_first + warp * kWarpRows;
  const int64_t head = int64_t{blockIdx.y} * args.head_dim;
  uint32_t q[HeadDim / 16][4];
  load_queries<HeadDim>(q, static_cast<const bf16*>(args.q) + head, args.q_stride, first, last,
                        args.head_dim);
  float out[HeadDim / 8][4] = {};
  Softmax softmax;
  const int end = args.cu_keys[blockIdx.z + 1];
  for (int key = args.cu_keys[blockIdx.z]; key < end; key += kTileKeys) {
    const int64_t offset = int64_t{key} * args.kv_stride + head;
    const int rows = min(kTileKeys, end - key);
    __syncthreads();
    load_tile<HeadDim>(tile.keys, static_cast<const bf16*>(args.k) + offset, args.kv_stride, rows,
                       args.head_dim);
    load_tile<HeadDim>(tile.values, static_cast<const bf16*>(args.v) + offset, args.kv_stride, rows,
                       args.head_dim);
    __syncthreads();
    float scores[kKeyTiles][4];
    score_tile<HeadDim>(scores, q, tile.keys, args.scale * kLog2E, rows);
    float shrink[2];
    update_softmax(scores, softmax, shrink);
#pragma unroll
    for (int n = 0; n < HeadDim / 8; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        out[n][j] *= shrink[j / 2];
      }
    }
    add_values<HeadDim>(out, scores, tile.values);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first + lane / 4 + r * 8;
    if (row > last) {
      continue;
    }
    bf16* to = static_cast<bf16*>(args.out) + int64_t{row} * args.out_stride + head;
#pragma unroll
    for (int n = 0; n < HeadDim / 8; ++n) {
      const int column = n * 8 + lane % 4 * 2;
      if (column < args.head_dim) {
        to[column] = from_float<bf16>(out[n][2 * r] / softmax.total[r]);
        to[column + 1] = from_float<bf16>(out[n][2 * r + 1] / softmax.total[r]);
      }
    }
  }
}

template <int HeadDim>
void run(const CudaContext& context, const VisionAttentionArgs& args) {
  const dim3 grid(static_cast<unsigned>(ceil_div(args.max_queries, kBlockRows)),
                  static_cast<unsigned>(args.num_heads), static_cast<unsigned>(args.num_segments));
  launch(context, attend_tiles<HeadDim>, {.grid = grid, .block = dim3(kThreads)}, args);
}

}  // namespace
}  // namespace cuda

bool serves_vision_tiles(const VisionAttentionArgs& args) {
  constexpr int64_t kPiece = 8;  // elements of 16 bytes
  const auto addresses = reinterpret_cast<uintptr_t>(args.q) | reinterpret_cast<uintptr_t>(args.k) |
                         reinterpret_cast<uintptr_t>(args.v);
  return args.head_dim % kPiece == 0 && args.q_stride % kPiece == 0 &&
         args.kv_stride % kPiece == 0 && addresses % (kPiece * sizeof(cuda::bf16)) == 0;
}

void launch_vision_tiles(const CudaContext& context, const VisionAttentionArgs& args) {
  // The released towers have heads of 64 and 72; larger ones share an instance.
  if (args.head_dim <= 64) {
    cuda::run<64>(context, args);
  } else if (args.head_dim <= 80) {
    cuda::run<80>(context, args);
  } else {
    cuda::run<128>(context, args);
  }
}

}  // namespace deltaserve
