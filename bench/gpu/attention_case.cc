// See attention_case.h.
#include "attention_case.h"

#include <algorithm>
#include <cmath>

#include "backends/cuda/cuda_ops.h"
#include "kernel_case.h"

namespace deltaserve::bench {

DeviceRows::DeviceRows(const std::vector<AttentionRows>& sequences,
                       const std::vector<std::vector<int32_t>>& blocks) {
  std::vector<int32_t> cu_seqlens = {0};
  std::vector<int32_t> contexts;
  std::vector<int32_t> positions;
  std::vector<int32_t> slots;
  std::vector<int32_t> tables;
  std::vector<uint8_t> recurrent;
  size_t width = 1;
  for (const auto& table : blocks) {
    width = std::max(width, table.size());
  }
  view_.num_chunked = 0;
  for (size_t s = 0; s < sequences.size(); ++s) {
    const AttentionRows& sequence = sequences[s];
    cu_seqlens.push_back(cu_seqlens.back() + sequence.rows);
    contexts.push_back(sequence.context);
    recurrent.push_back(sequence.recurrent ? 1 : 0);
    view_.num_chunked += sequence.recurrent ? 0 : 1;
    view_.max_query_len = std::max(view_.max_query_len, sequence.rows);
    for (int32_t row = 0; row < sequence.rows; ++row) {
      const int32_t position = sequence.context + row;
      positions.push_back(position);
      slots.push_back(blocks[s][static_cast<size_t>(position / kBlockSize)] * kBlockSize +
                      position % kBlockSize);
    }
    tables.insert(tables.end(), blocks[s].begin(), blocks[s].end());
    tables.resize((s + 1) * width, -1);
  }
  const auto text = positions;
  positions.insert(positions.end(), text.begin(), text.end());
  positions.insert(positions.end(), text.begin(), text.end());
  view_.num_tokens = cu_seqlens.back();
  view_.num_seqs = static_cast<int32_t>(sequences.size());
  view_.max_blocks_per_seq = static_cast<int32_t>(width);
  const auto keep = [&](const std::vector<int32_t>& array) {
    arrays_.push_back(to_device(array));
    return static_cast<const int32_t*>(arrays_.back().data());
  };
  view_.cu_seqlens = keep(cu_seqlens);
  view_.context_lens = keep(contexts);
  view_.positions = keep(positions);
  view_.slot_mapping = keep(slots);
  view_.block_tables = keep(tables);
  CudaMemory flags(recurrent.size() + 1);
  check_cuda(cudaMemcpy(flags.data(), recurrent.data(), recurrent.size(), cudaMemcpyHostToDevice));
  view_.recurrent = static_cast<const uint8_t*>(flags.data());
  arrays_.push_back(std::move(flags));
}

AttentionCase::AttentionCase(CudaContext& context, AttentionShape shape, int32_t sequences,
                             int32_t max_len)
    : context_(context),
      shape_(shape),
      sequences_(sequences),
      blocks_per_sequence_((max_len + kBlockSize - 1) / kBlockSize),
      cache_(static_cast<size_t>(sequences * int64_t{blocks_per_sequence_} * 2 * shape.kv_heads *
                                 kBlockSize * shape.head_dim * dtype_size(context.compute_dtype))) {
  check_cuda(cudaMemset(cache_.data(), 0xff, cache_.bytes()));
  check_cuda(cudaDeviceSynchronize());
}

// q and gate (0), k (1) or v (2) of a token.
std::vector<float> AttentionCase::values(int32_t id, int32_t position, int32_t width,
                                         uint64_t what) const {
  const uint64_t seed = (static_cast<uint64_t>(id) * 1000003 + static_cast<uint64_t>(position)) * 3;
  std::vector<float> row =
      random_values(static_cast<size_t>(width), seed + what, what == 2 ? 1.0F : 2.0F);
  std::ranges::transform(row, row.begin(),
                         [&](float value) { return rounded(context_.compute_dtype, value); });
  return row;
}

// Blocks of all sequences in turn, backwards.
std::vector<int32_t> AttentionCase::blocks_of(int32_t id) const {
  std::vector<int32_t> blocks;
  for (int32_t b = 0; b < blocks_per_sequence_; ++b) {
    blocks.push_back((blocks_per_sequence_ - 1 - b) * sequences_ + id);
  }
  return blocks;
}

void AttentionCase::write(const BatchView& batch, const std::vector<AttentionRows>& sequences) {
  const int32_t width = shape_.kv_heads * shape_.head_dim;
  std::vector<float> k;
  std::vector<float> v;
  for (const AttentionRows& sequence : sequences) {
    for (int32_t row = 0; row < sequence.rows; ++row) {
      const auto k_row = values(sequence.id, sequence.context + row, width, 1);
      const auto v_row = values(sequence.id, sequence.context + row, width, 2);
      k.insert(k.end(), k_row.begin(), k_row.end());
      v.insert(v.end(), v_row.begin(), v_row.end());
    }
  }
  const CudaMemory k_memory = to_device(context_.compute_dtype, k);
  const CudaMemory v_memory = to_device(context_.compute_dtype, v);
  launch_write_kv(context_, {.batch = &batch,
                             .num_kv_heads = shape_.kv_heads,
                             .head_dim = shape_.head_dim,
                             .k = k_memory.data(),
                             .v = v_memory.data(),
                             .kv_stride = width,
                             .kv_cache = cache_.data()});
  check_cuda(cudaStreamSynchronize(context_.stream));
}

void AttentionCase::fill(int32_t id, int32_t tokens) {
  const std::vector<AttentionRows> sequences = {{id, 0, tokens, false}};
  if (tokens > 0) {
    const DeviceRows rows(sequences, {blocks_of(id)});
    write(rows.view(), sequences);
  }
}

std::vector<float> AttentionCase::run(const std::vector<AttentionRows>& sequences) {
  std::vector<std::vector<int32_t>> blocks;
  std::vector<float> q;
  const int32_t width = shape_.heads * shape_.head_dim;
  for (const AttentionRows& sequence : sequences) {
    blocks.push_back(blocks_of(sequence.id));
    for (int32_t row = 0; row < sequence.rows; ++row) {
      const auto q_row = values(sequence.id, sequence.context + row, 2 * width, 0);
      q.insert(q.end(), q_row.begin(), q_row.end());
    }
  }
  const DeviceRows rows(sequences, blocks);
  write(rows.view(), sequences);
  const DType x = context_.compute_dtype;
  const CudaMemory q_memory = to_device(x, q);
  const auto count = static_cast<size_t>(rows.view().num_tokens) * static_cast<size_t>(width);
  const CudaMemory out = to_device(x, std::vector<float>(count, NAN));
  launch_attention(
      context_, {.batch = &rows.view(),
                 .num_heads = shape_.heads,
                 .num_kv_heads = shape_.kv_heads,
                 .head_dim = shape_.head_dim,
                 .scale = 1.0F / std::sqrt(static_cast<float>(shape_.head_dim)),
                 .q = q_memory.data(),
                 .gate = static_cast<std::byte*>(q_memory.data()) + shape_.head_dim * dtype_size(x),
                 .q_stride = 2 * int64_t{width},
                 .q_head_stride = 2 * int64_t{shape_.head_dim},
                 .kv_cache = cache_.data(),
                 .out = out.data(),
                 .out_stride = width});
  check_cuda(cudaStreamSynchronize(context_.stream));
  return to_host(x, out.data(), count);
}

std::vector<double> AttentionCase::expected(int32_t id, int32_t position) const {
  const int32_t hd = shape_.head_dim;
  const int32_t kv_width = shape_.kv_heads * hd;
  const auto q = values(id, position, 2 * shape_.heads * hd, 0);
  std::vector<std::vector<float>> k;
  std::vector<std::vector<float>> v;
  for (int32_t j = 0; j <= position; ++j) {
    k.push_back(values(id, j, kv_width, 1));
    v.push_back(values(id, j, kv_width, 2));
  }
  std::vector<double> out;
  for (int32_t h = 0; h < shape_.heads; ++h) {
    const auto kv_first =
        static_cast<size_t>(h / (shape_.heads / shape_.kv_heads)) * static_cast<size_t>(hd);
    const float* query = q.data() + int64_t{2} * h * hd;
    std::vector<double> weights;
    double largest = -INFINITY;
    for (const auto& key : k) {
      double dot = 0.0;
      for (int32_t d = 0; d < hd; ++d) {
        dot += static_cast<double>(query[d]) * key[kv_first + static_cast<size_t>(d)];
      }
      weights.push_back(dot / std::sqrt(static_cast<double>(hd)));
      largest = std::max(largest, weights.back());
    }
    double total = 0.0;
    for (double& weight : weights) {
      weight = std::exp(weight - largest);
      total += weight;
    }
    for (int32_t d = 0; d < hd; ++d) {
      double sum = 0.0;
      for (size_t j = 0; j < v.size(); ++j) {
        sum += weights[j] * v[j][kv_first + static_cast<size_t>(d)];
      }
      out.push_back(sum / total / (1.0 + std::exp(-static_cast<double>(query[hd + d]))));
    }
  }
  return out;
}

}  // namespace deltaserve::bench
