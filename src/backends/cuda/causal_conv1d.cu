// causal_conv1d: a thread slides over the rows of a tile with N neighbouring channels (four, one if
// rows do not lie on borders of four) and their last three inputs in registers, so that each input
// is read once. Bound by bytes: x in, out out.
// The state of a sequence is read and replaced by one thread only, that of the tile where the
// sequence begins; it therefore also makes the first three rows, the ones that need the old state,
// where those reach into the next tile.
#include <algorithm>
#include <type_traits>

#include "backends/cuda/causal_conv1d.cuh"
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve {
namespace {

using namespace cuda;

constexpr int kThreads = 128;
constexpr int kHistory = kConvHistory;
// Rows of a tile: long enough to reread only 3 of 19 inputs, short enough for a few thousand rows
// to fill the device. Decode has a row a tile.
constexpr int kTileRows = 16;

template <typename X>
struct Conv {
  const int32_t* cu_seqlens;    // [B + 1]
  const int32_t* context_lens;  // [B]
  const int32_t* state_slots;   // [B]
  const int32_t* stored_lens;   // [B] or null
  int32_t num_seqs;
  int32_t num_tokens;
  int32_t tile_rows;
  int64_t C;
  const X* x;  // [T, C]
  int64_t x_stride;
  const float* weight;  // [C, 4]
  float* state;         // [slots, 3, C]
  X* out;               // [T, C]
  int64_t out_stride;
};

// The sequence that owns a row, by a whole warp: as many start at or before it as its index + 1.
__device__ __forceinline__ int sequence_of(const int32_t* cu_seqlens, int num_seqs, int row) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  int count = 0;
  for (int first = 0; first < num_seqs; first += kWarp) {
    const int s = first + lane;
    count += __popc(__ballot_sync(kAllLanes, s < num_seqs && cu_seqlens[s] <= row));
  }
  return count - 1;
}

template <int N, typename T>
__device__ __forceinline__ void load_channels(const T* from, float (&to)[N]) {
  if constexpr (N == 1) {
    to[0] = to_float(*from);
  } else {
    load<N>(from, to);
  }
}
template <int N, typename T>
__device__ __forceinline__ void store_channels(T* to, const float (&from)[N]) {
  if constexpr (N == 1) {
    *to = from_float<T>(from[0]);
  } else {
    store<N>(to, from);
  }
}

// A thread's channels of a row as they lie in memory.
template <typename X, int N>
struct alignas(sizeof(X) * N) Piece {
  X values[N];
};

// A thread's channels of one sequence.
template <typename X, int N>
struct Channels {
  const Conv<X>& conv;
  int64_t c;  // first channel
  float weight[N][4];
  float last[kHistory][N];  // oldest first

  __device__ Channels(const Conv<X>& arguments, int64_t first) : conv(arguments), c(first) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      load<4>(conv.weight + (c + i) * 4, weight[i]);
    }
  }

  __device__ void read(int64_t row, float (&to)[N]) const {
    load_channels<N>(conv.x + row * conv.x_stride + c, to);
  }

  // The inputs before `row`, all of the step itself.
  __device__ void start_at(int64_t row) {
#pragma unroll
    for (int i = 0; i < kHistory; ++i) {
      read(row - kHistory + i, last[i]);
    }
  }

  // The inputs before the sequence from its slot, which then gets those before its end, or before
  // its drafts.
  __device__ void start_sequence(int s, int32_t begin, int32_t end) {
    if (conv.stored_lens != nullptr) {
      end = begin + conv.stored_lens[s];
    }
    float* state = conv.state + conv.state_slots[s] * kHistory * conv.C + c;
    const bool fresh = conv.context_lens[s] == 0;
#pragma unroll
    for (int i = 0; i < kHistory; ++i) {
#pragma unroll
      for (int j = 0; j < N; ++j) {
        last[i][j] = 0.0F;
      }
      if (!fresh) {
        load_channels<N>(state + i * conv.C, last[i]);
      }
    }
    const int32_t rows = end - begin;
#pragma unroll
    for (int i = 0; i < kHistory; ++i) {
      float next[N];
      if (rows + i >= kHistory) {
        read(end - kHistory + i, next);
      } else {
#pragma unroll
        for (int j = 0; j < N; ++j) {
          next[j] = rows == 1 ? last[(i + 1) % kHistory][j] : last[(i + 2) % kHistory][j];
        }
      }
      store_channels<N>(state + i * conv.C, next);
    }
  }

  // All inputs of a batch of rows are asked for before the first of them is needed.
  __device__ void slide(int32_t row, int32_t end) {
    constexpr int32_t kBatch = 8;
    const X* from = conv.x + row * conv.x_stride + c;
    X* to = conv.out + row * conv.out_stride + c;
    for (; row + kBatch <= end; row += kBatch) {
      Piece<X, N> pieces[kBatch];
#pragma unroll
      for (auto& piece : pieces) {
        piece = *reinterpret_cast<const Piece<X, N>*>(from);
        from += conv.x_stride;
      }
#pragma unroll
      for (const auto& piece : pieces) {
        make_row(to, piece);
        to += conv.out_stride;
      }
    }
    for (; row < end; ++row) {
      make_row(to, *reinterpret_cast<const Piece<X, N>*>(from));
      from += conv.x_stride;
      to += conv.out_stride;
    }
  }

  __device__ void make_row(X* to, const Piece<X, N>& piece) {
    float out[N];
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float x = to_float(piece.values[j]);
      out[j] = conv_output<X>(weight[j], last[0][j], last[1][j], last[2][j], x);
      last[0][j] = last[1][j];
      last[1][j] = last[2][j];
      last[2][j] = x;
    }
    store_channels<N>(to, out);
  }
};

// grid (C / (kThreads * N) up, tiles of rows)
template <typename X, int N>
__global__ void __launch_bounds__(kThreads) causal_conv1d(const Conv<X> conv) {
  const int32_t tile = static_cast<int32_t>(blockIdx.y) * conv.tile_rows;
  const int32_t tile_end = min(tile + conv.tile_rows, conv.num_tokens);
  int s = sequence_of(conv.cu_seqlens, conv.num_seqs, tile);
  const int64_t c = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * N;
  if (c >= conv.C) {
    return;
  }
  Channels<X, N> channels(conv, c);
  wait_for_previous();
  int32_t begin = conv.cu_seqlens[s];
  if (begin < tile) {  // the sequence began in an earlier tile, which makes its first rows
    const int32_t row = max(tile, begin + kHistory);
    const int32_t end = min(conv.cu_seqlens[s + 1], tile_end);
    if (row < end) {
      channels.start_at(row);
      channels.slide(row, end);
    }
    begin = conv.cu_seqlens[++s];
  }
  for (; begin < tile_end; ++s) {
    const int32_t end = conv.cu_seqlens[s + 1];
    channels.start_sequence(s, begin, end);
    channels.slide(begin, min(end, max(tile_end, begin + kHistory)));
    begin = end;
  }
}

template <typename X, int N>
void launch_for(const CudaContext& context, const CausalConv1dArgs& args) {
  const BatchView& batch = *args.batch;
  const int32_t tile_rows = batch.max_query_len == 1 ? 1 : kTileRows;
  const LaunchShape shape = {
      .grid = dim3(static_cast<unsigned>(ceil_div(args.C, int64_t{kThreads * N})),
                   static_cast<unsigned>(ceil_div(batch.num_tokens, tile_rows))),
      .block = kThreads};
  launch_early(context, causal_conv1d<X, N>, shape,
               Conv<X>{.cu_seqlens = batch.cu_seqlens,
                       .context_lens = batch.context_lens,
                       .state_slots = batch.state_slots,
                       .stored_lens = batch.stored_lens,
                       .num_seqs = batch.num_seqs,
                       .num_tokens = batch.num_tokens,
                       .tile_rows = tile_rows,
                       .C = args.C,
                       .x = static_cast<const X*>(args.x),
                       .x_stride = args.x_stride,
                       .weight = args.weight,
                       .state = args.conv_state,
                       .out = static_cast<X*>(args.out),
                       .out_stride = args.out_stride});
}

}  // namespace

void launch_causal_conv1d(CudaContext& context, const CausalConv1dArgs& args) {
  const bool in_fours = args.C % 4 == 0 && args.x_stride % 4 == 0 && args.out_stride % 4 == 0;
  with_x(context.compute_dtype, [&](auto* type) {
    using X = std::remove_pointer_t<decltype(type)>;
    if (in_fours) {
      launch_for<X, 4>(context, args);
    } else {
      launch_for<X, 1>(context, args);
    }
  });
}

}  // namespace deltaserve
