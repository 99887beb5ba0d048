// How a block of the chunked delta rule finds its sequence and chunk in a batch.
#pragma once

#include "backends/cuda/delta_rule_chunks.cuh"

namespace deltaserve::cuda {

struct Chunk {
  int32_t sequence = -1;  // -1: there is none
  int32_t row = 0;    // of the packed batch, where the chunk's row 0 is or would be (may be < 0)
  int32_t begin = 0;  // rows of the chunk that the sequence has here: [begin, end)
  int32_t end = 0;
  int64_t place = 0;  // in scratch

  __device__ bool full() const { return end - begin == kChunkSize; }
};

// A sequence's rows in this step.
struct SequenceRows {
  int32_t sequence = 0;
  int32_t first = 0;  // of the packed batch
  int32_t count = 0;
  int32_t offset = 0;  // of the first one in its chunk

  SequenceRows() = default;
  __device__ SequenceRows(const ChunkedRule& rule, int32_t s)
      : sequence(s),
        first(rule.cu_seqlens[s]),
        count(rule.cu_seqlens[s + 1] - first),
        offset(rule.context_lens[s] % kChunkSize) {}

  __device__ int32_t chunks() const { return count_chunks(offset, count); }

  __device__ Chunk chunk(int32_t c) const {
    return {.sequence = sequence,
            .row = first - offset + c * kChunkSize,
            .begin = c == 0 ? offset : 0,
            .end = min(kChunkSize, offset + count - c * kChunkSize),
            .place = chunk_place(sequence, first) + c};
  }
};

// Calls `count(s)` for sequences in order and returns the one in which the running total passes
// `index`, and `index`'s rank in it; -1 if there is none. By a whole warp, lanes agreeing.
template <typename Count>
__device__ __forceinline__ int2 find_in_sequences(int32_t num_seqs, int32_t index, Count&& count) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  for (int32_t first = 0; first < num_seqs; first += kWarp) {
    const int32_t own = first + lane < num_seqs ? count(first + lane) : 0;
    int32_t total = own;
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
      const int32_t before = __shfl_up_sync(kAllLanes, total, step);
      total += lane >= step ? before : 0;
    }
    const unsigned past = __ballot_sync(kAllLanes, total > index);
    if (past != 0) {
      const int at = __ffs(static_cast<int>(past)) - 1;
      return make_int2(first + at, index - __shfl_sync(kAllLanes, total - own, at));
    }
    index -= __shfl_sync(kAllLanes, total, kWarp - 1);
  }
  return make_int2(-1, 0);
}

// The index-th chunk of this launch.
__device__ __forceinline__ Chunk find_chunk(const ChunkedRule& rule, int32_t index) {
  const int2 found = find_in_sequences(rule.num_seqs, index, [&](int32_t s) {
    const int32_t chunks = SequenceRows(rule, s).chunks();
    return rule.recurrent[s] != 0 ? 0 : min(max(chunks - rule.first_chunk, 0), rule.num_chunks);
  });
  return found.x < 0 ? Chunk{} : SequenceRows(rule, found.x).chunk(rule.first_chunk + found.y);
}

// The index-th sequence that goes in chunks, or -1.
__device__ __forceinline__ int32_t find_chunked_sequence(const ChunkedRule& rule, int32_t index) {
  return find_in_sequences(rule.num_seqs, index,
                           [&](int32_t s) { return rule.recurrent[s] == 0 ? 1 : 0; })
      .x;
}

}  // namespace deltaserve::cuda
