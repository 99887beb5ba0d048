// How decode divides its work: an item is (row, kv head, split), a split a run of KV blocks whose
// length depends on the row's own length alone. The blocks of the grid take equal runs of items,
// found by a scan over the sequences, so that nobody on the host needs to know a length.
#pragma once

#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "ops/batch_view.h"

namespace deltaserve::cuda {

// 8 blocks: 128 KiB a kv head, long enough to cover the merge of the splits.
inline constexpr int kMinSplitBlocks = 8;
// 32 splits times 4 kv heads fill 132 multiprocessors with one long sequence.
inline constexpr int kMaxSplits = 32;
// Rows whose partial results the scratch holds.
inline constexpr int kMaxSplitRows = 64;
// Warps of a thread block; a split's KV blocks go to them in turn.
inline constexpr int kDecodeWarps = 4;

// KV blocks of a split of a row that sees `blocks` of them, a multiple of the warps.
__device__ __forceinline__ int split_blocks(int blocks) {
  const int even = (blocks + kMaxSplits - 1) / kMaxSplits;
  return max(kMinSplitBlocks, (even + kDecodeWarps - 1) / kDecodeWarps * kDecodeWarps);
}

// A place in the list of items. `splits` may be more than a row has: the rest are empty.
struct DecodeItem {
  int sequence;
  int rows;     // of the sequence
  int row;      // in the sequence
  int context;  // tokens before the first row
  int rank;     // of the row among all recurrent rows
  int splits;   // items of each (row, head)
  int head;     // kv head
  int split;

  __device__ int position() const { return context + row; }
  __device__ int num_blocks() const { return position() / kBlockSize + 1; }
  __device__ int first_block() const { return split * split_blocks(num_blocks()); }
  __device__ int end_block() const {
    return min(num_blocks(), first_block() + split_blocks(num_blocks()));
  }
  // Splits of this row that hold anything.
  __device__ int row_splits() const {
    const int size = split_blocks(num_blocks());
    return (num_blocks() + size - 1) / size;
  }
};

// Rows of sequence s if it is recurrent, else 0.
__device__ __forceinline__ int recurrent_rows(const BatchView& batch, int s) {
  return s < batch.num_seqs && batch.recurrent[s] != 0
             ? batch.cu_seqlens[s + 1] - batch.cu_seqlens[s]
             : 0;
}

// Items of a (row, head) of a sequence of `rows` rows: what its longest row takes, exact for one.
__device__ __forceinline__ int splits_of(int context, int rows) {
  const int blocks = (context + rows - 1) / kBlockSize + 1;
  const int size = rows == 1 ? split_blocks(blocks) : kMinSplitBlocks;
  return min(kMaxSplits, (blocks + size - 1) / size);
}

// What the grid shares out: single items, or with `whole` all splits of a (row, head) to one thread
// block, which then merges them in registers, in the same order and with the same bits.
struct DecodePlan {
  bool whole;
  int pairs;  // of a row and a head
  int units;  // these, or items
};

// A whole warp calls it.
__device__ __forceinline__ DecodePlan plan_items(const BatchView& batch, int num_kv_heads) {
  int rows = 0;
  int items = 0;
  int longest = 0;
  for (int first = 0; first < batch.num_seqs; first += kWarp) {
    const int s = first + static_cast<int>(threadIdx.x) % kWarp;
    const int mine = recurrent_rows(batch, s);
    const int splits = mine > 0 ? splits_of(batch.context_lens[s], mine) : 0;
    rows += __reduce_add_sync(kAllLanes, mine);
    items += __reduce_add_sync(kAllLanes, mine * splits * num_kv_heads);
    longest = max(longest, __reduce_max_sync(kAllLanes, splits));
  }
  const int pairs = rows * num_kv_heads;
  const int grid = static_cast<int>(gridDim.x);
  // The splits that the busiest block does one after the other. One that is merged through memory
  // takes about half as long again.
  const int whole_time = (pairs + grid - 1) / grid * longest * 2;
  const int split_time = (items + grid - 1) / grid * 3;
  const bool whole = rows > kMaxSplitRows || whole_time < split_time;
  return {whole, pairs, whole ? pairs : items};
}

// The item of number `index`; with `whole`, the first item of the (row, head) of that number.
__device__ __forceinline__ DecodeItem find_item(const BatchView& batch, int num_kv_heads, int index,
                                                bool whole) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  int rows_before = 0;
  for (int first = 0;; first += kWarp) {
    const int s = first + lane;
    const int rows = recurrent_rows(batch, s);
    const int context = rows > 0 ? batch.context_lens[s] : 0;
    const int splits = rows > 0 ? splits_of(context, rows) : 0;
    const int per_head = whole ? min(splits, 1) : splits;
    const int count = rows * per_head * num_kv_heads;
    int end = count;
    int rows_end = rows;
#pragma unroll
    for (int offset = 1; offset < kWarp; offset *= 2) {
      const int below = __shfl_up_sync(kAllLanes, end, offset);
      const int rows_below = __shfl_up_sync(kAllLanes, rows_end, offset);
      end += lane >= offset ? below : 0;
      rows_end += lane >= offset ? rows_below : 0;
    }
    const unsigned after = __ballot_sync(kAllLanes, end > index);
    if (after != 0) {
      const int from = __ffs(static_cast<int>(after)) - 1;
      const auto get = [&](int value) { return __shfl_sync(kAllLanes, value, from); };
      const int place = index - get(end - count);
      const int items_of_head = get(per_head);
      DecodeItem item;
      item.sequence = first + from;
      item.rows = get(rows);
      item.context = get(context);
      item.splits = get(splits);
      item.row = place / (items_of_head * num_kv_heads);
      item.head = place / items_of_head % num_kv_heads;
      item.split = whole ? 0 : place % items_of_head;
      item.rank = rows_before + get(rows_end - rows) + item.row;
      return item;
    }
    index -= __shfl_sync(kAllLanes, end, kWarp - 1);
    rows_before += __shfl_sync(kAllLanes, rows_end, kWarp - 1);
  }
}

// The next item; there must be one.
__device__ __forceinline__ void advance(DecodeItem& item, const BatchView& batch,
                                        int num_kv_heads) {
  if (++item.split < item.splits) {
    return;
  }
  item.split = 0;
  if (++item.head < num_kv_heads) {
    return;
  }
  item.head = 0;
  ++item.rank;
  if (++item.row < item.rows) {
    return;
  }
  item.row = 0;
  do {
    item.rows = recurrent_rows(batch, ++item.sequence);
  } while (item.rows == 0);
  item.context = batch.context_lens[item.sequence];
  item.splits = splits_of(item.context, item.rows);
}

}  // namespace deltaserve::cuda
