// attention of the reference backend: one query row at a time, scores of all tokens, softmax.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {
namespace {

// One query row of one head against the first `length` tokens, given their slots.
void attend(DType x_dtype, const AttentionArgs& args, int64_t t, int64_t h,
            const std::vector<int64_t>& slots) {
  const int64_t hd = args.head_dim;
  const int64_t kv_head = h / (args.num_heads / args.num_kv_heads);
  const int64_t q_first = t * args.q_stride + h * args.q_head_stride;
  std::vector<float> scores;
  float largest = -std::numeric_limits<float>::infinity();
  for (const int64_t slot : slots) {
    const int64_t k_first = kv_index(slot, false, kv_head, args.num_kv_heads, hd);
    double dot = 0.0;
    for (int64_t d = 0; d < hd; ++d) {
      dot += static_cast<double>(load(x_dtype, args.q, q_first + d)) *
             load(x_dtype, args.kv_cache, k_first + d);
    }
    scores.push_back(static_cast<float>(dot) * args.scale);
    largest = std::max(largest, scores.back());
  }
  double total = 0.0;
  std::vector<double> out(static_cast<size_t>(hd), 0.0);
  for (size_t j = 0; j < slots.size(); ++j) {
    const double weight = std::exp(scores[j] - largest);
    total += weight;
    const int64_t v_first = kv_index(slots[j], true, kv_head, args.num_kv_heads, hd);
    for (int64_t d = 0; d < hd; ++d) {
      out[static_cast<size_t>(d)] += weight * load(x_dtype, args.kv_cache, v_first + d);
    }
  }
  for (int64_t d = 0; d < hd; ++d) {
    const float gate = load(x_dtype, args.gate, q_first + d);
    const auto mean = static_cast<float>(out[static_cast<size_t>(d)] / total);
    store(x_dtype, args.out, t * args.out_stride + h * hd + d, mean * sigmoid(gate));
  }
}

}  // namespace

void attention(DType x_dtype, const AttentionArgs& args) {
  const BatchView& batch = *args.batch;
  for (int64_t s = 0; s < batch.num_seqs; ++s) {
    const int32_t* table = batch.block_tables + s * batch.max_blocks_per_seq;
    for (int64_t t = batch.cu_seqlens[s]; t < batch.cu_seqlens[s + 1]; ++t) {
      const int64_t position = batch.context_lens[s] + t - batch.cu_seqlens[s];
      std::vector<int64_t> slots;
      for (int64_t j = 0; j <= position; ++j) {
        slots.push_back(int64_t{table[j / kBlockSize]} * kBlockSize + j % kBlockSize);
      }
      for (int64_t h = 0; h < args.num_heads; ++h) {
        attend(x_dtype, args, t, h, slots);
      }
    }
  }
}

}  // namespace deltaserve::reference
