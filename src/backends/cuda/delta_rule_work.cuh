// What a block of the second kernel of the chunked delta rule works on, one piece after the other.
#pragma once

#include <type_traits>

#include "backends/cuda/delta_rule_pieces.cuh"
#include "backends/cuda/delta_rule_state.cuh"

namespace deltaserve::cuda {

// What a block works on: a piece of a stream, and the value columns from `column` on.
struct Work {
  Piece piece;
  int32_t head = 0;
  int32_t column = 0;
};

// A block with one warpgroup has half of a stream of this launch, if there is one for it.
class HalfStream {
 public:
  __device__ explicit HalfStream(const ChunkedRule& rule) {
    const int32_t stream = static_cast<int32_t>(blockIdx.x) / 2;
    const int32_t sequence = find_chunked_sequence(rule, stream / rule.num_v_heads);
    if (sequence < 0) {
      return;
    }
    work_.piece.rows = SequenceRows(rule, sequence);
    work_.head = stream % rule.num_v_heads;
    work_.column = static_cast<int32_t>(blockIdx.x) % 2 * kColumns;
    Piece& piece = work_.piece;
    piece.key_head = work_.head / (rule.num_v_heads / rule.num_k_heads);
    piece.first = rule.first_chunk;
    piece.end = min(piece.rows.chunks(), rule.first_chunk + rule.num_chunks);
    left_ = piece.first < piece.end;
  }

  __device__ bool next(Work& work) {
    work = work_;
    const bool found = left_;
    left_ = false;
    return found;
  }

 private:
  Work work_;
  bool left_ = false;
};

// One with two has its team's pieces of whole streams.
class TeamPieces {
 public:
  __device__ explicit TeamPieces(const ChunkedRule& rule)
      : heads_(rule.num_v_heads / rule.num_k_heads),
        pieces_(rule, static_cast<int32_t>(blockIdx.x) / heads_,
                static_cast<int32_t>(gridDim.x) / heads_) {}

  __device__ bool next(Work& work) {
    const bool found = pieces_.next(work.piece);
    work.head = work.piece.key_head * heads_ + static_cast<int32_t>(blockIdx.x) % heads_;
    return found;
  }

 private:
  int32_t heads_;
  Pieces pieces_;
};

template <int Groups>
using Source = std::conditional_t<Groups == 1, HalfStream, TeamPieces>;

}  // namespace deltaserve::cuda
