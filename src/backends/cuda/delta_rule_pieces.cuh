// How the second kernel of the chunked delta rule divides a batch over the device: the chunks of
// all sequences and key heads stand in one line that is cut into equal lengths, one for each team
// of blocks (a block a value head of the key head, so that they read the same K and Q at the same
// time). A team goes through its length from the last stream back to the first. So a stream that a
// cut divides has its head done first by one team and its tail last by the next: a length is at
// least the longest stream, and whoever waits for a state waits for one that was stored long before
// (McNaughton's rule for work that may be interrupted).
#pragma once

#include "backends/cuda/delta_rule_sequences.cuh"

namespace deltaserve::cuda {

// Chunks [first, end) of a sequence and key head.
struct Piece {
  SequenceRows rows;
  int32_t key_head = 0;
  int32_t first = 0;
  int32_t end = 0;
  bool continues = false;   // the team before began the stream
  bool hands_over = false;  // the next team goes on
};

// A team's pieces, by whole warps whose lanes agree.
class Pieces {
 public:
  __device__ Pieces(const ChunkedRule& rule, int32_t team, int32_t teams) : rule_(rule) {
    const int lane = static_cast<int>(threadIdx.x % kWarp);
    int32_t total = 0;
    int32_t longest = 0;
    for (int32_t s = lane; s < rule.num_seqs; s += kWarp) {
      const int32_t chunks = chunks_of(s);
      total += chunks;
      longest = max(longest, chunks);
    }
    total = __reduce_add_sync(kAllLanes, total) * rule.num_k_heads;
    longest = __reduce_max_sync(kAllLanes, longest);
    const int32_t length = max((total + teams - 1) / teams, longest);
    begin_ = min(team * length, total);
    end_ = min(begin_ + length, total);
  }

  // The next piece, if there is one.
  __device__ bool next(Piece& piece) {
    if (end_ == begin_) {
      return false;
    }
    const int2 found = find_in_sequences(
        rule_.num_seqs, end_ - 1, [&](int32_t s) { return chunks_of(s) * rule_.num_k_heads; });
    piece.rows = SequenceRows(rule_, found.x);
    const int32_t chunks = chunks_of(found.x);
    const int32_t end = found.y % chunks + 1;
    const int32_t first = max(0, end - (end_ - begin_));
    piece.key_head = found.y / chunks;
    piece.first = rule_.first_chunk + first;
    piece.end = rule_.first_chunk + end;
    piece.continues = first > 0;
    piece.hands_over = end < chunks;
    end_ -= end - first;
    return true;
  }

 private:
  __device__ int32_t chunks_of(int32_t s) const {
    const int32_t chunks = SequenceRows(rule_, s).chunks() - rule_.first_chunk;
    return rule_.recurrent[s] != 0 ? 0 : min(max(chunks, 0), rule_.num_chunks);
  }

  const ChunkedRule& rule_;
  int32_t begin_ = 0;
  int32_t end_ = 0;
};

// A warp's part of the state of a stream that two teams share: the flag of this warp in the block
// that began it. The one who waits puts the flag back to 0.
__device__ __forceinline__ int32_t* handover_flag(const ChunkedRule& rule, int32_t block) {
  return rule.handovers + block * kHandovers + static_cast<int32_t>(threadIdx.x) / kWarp;
}

__device__ __forceinline__ void hand_over(int32_t* flag) {
  __syncwarp();
  if (threadIdx.x % kWarp == 0) {
    asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
  }
}

__device__ __forceinline__ void take_over(int32_t* flag) {
  if (threadIdx.x % kWarp == 0) {
    int32_t stored = 0;
    while (stored == 0) {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(stored) : "l"(flag) : "memory");
    }
    *flag = 0;
  }
  __syncwarp();
}

}  // namespace deltaserve::cuda
