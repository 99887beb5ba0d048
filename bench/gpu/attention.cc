// qk_norm_rope, write_kv and attention: against float64, bits against cuts and batches, and times
// of a layer of the 27B (24 heads, 4 kv heads) and the 35B-A3B (16, 2).
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "attention_case.h"
#include "backends/cuda/cuda_ops.h"
#include "graph_timer.h"
#include "kernel_case.h"

namespace deltaserve::bench {
namespace {

std::string name_of(const AttentionShape& shape, const AttentionRows& rows) {
  return std::to_string(shape.heads) + "/" + std::to_string(shape.kv_heads) + " x " +
         std::to_string(shape.head_dim) + (rows.recurrent ? " decode " : " prompt ") +
         std::to_string(rows.context) + " + " + std::to_string(rows.rows);
}

// First, last and some rows between.
std::vector<int32_t> rows_to_check(int32_t rows) {
  std::vector<int32_t> some = {0, rows - 1};
  for (int32_t i = 1; i < 6; ++i) {
    some.push_back(rows * i / 6);
  }
  std::ranges::sort(some);
  some.erase(std::unique(some.begin(), some.end()), some.end());
  return some;
}

void check_shape(CudaContext& context, const AttentionShape& shape,
                 const std::vector<AttentionRows>& sequences) {
  int32_t max_len = 0;
  for (const AttentionRows& sequence : sequences) {
    max_len = std::max(max_len, sequence.context + sequence.rows);
  }
  AttentionCase attention(context, shape, static_cast<int32_t>(sequences.size()), max_len);
  for (const AttentionRows& sequence : sequences) {
    attention.fill(sequence.id, sequence.context);
  }
  const std::vector<float> all = attention.run(sequences);
  const size_t width = static_cast<size_t>(shape.heads) * static_cast<size_t>(shape.head_dim);
  size_t first = 0;
  std::vector<float> separate;
  for (const AttentionRows& sequence : sequences) {
    Error error;
    for (const int32_t row : rows_to_check(sequence.rows)) {
      const auto expected = attention.expected(sequence.id, sequence.context + row);
      for (size_t i = 0; i < width; ++i) {
        error.add(all[(first + static_cast<size_t>(row)) * width + i], expected[i],
                  static_cast<int64_t>(static_cast<size_t>(row) * width + i));
      }
    }
    error.report(name_of(shape, sequence), context.compute_dtype == DType::kF32 ? 1e-5 : 5e-3);
    const auto alone = attention.run({sequence});
    separate.insert(separate.end(), alone.begin(), alone.end());
    first += static_cast<size_t>(sequence.rows);
  }
  report_same_bits("each sequence alone", separate, all);
}

// A prompt whole and cut; decoded rows one by one and replayed together.
void check_cuts(CudaContext& context, const AttentionShape& shape) {
  constexpr int32_t kPrompt = 333;
  constexpr int32_t kDecoded = 70;  // more rows than the splits' scratch holds
  const auto run = [&](const std::vector<int32_t>& cuts, bool together) {
    AttentionCase attention(context, shape, 2, kPrompt + kDecoded);
    std::vector<float> all;
    int32_t done = 0;
    for (const int32_t cut : cuts) {
      const auto part = attention.run({{1, done, cut - done, false}});
      all.insert(all.end(), part.begin(), part.end());
      done = cut;
    }
    for (int32_t i = 0; i < kDecoded; i += together ? kDecoded : 1) {
      const auto part = attention.run({{1, kPrompt + i, together ? kDecoded : 1, true}});
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  const auto whole = run({kPrompt}, false);
  report_same_bits("a prompt cut at 64 and 320", run({64, 320, kPrompt}, false), whole);
  report_same_bits("a prompt cut before its last row", run({kPrompt - 1, kPrompt}, false), whole);
  report_same_bits("decoded rows replayed together", run({kPrompt}, true), whole);
}

void check_norm_rope(CudaContext& context, int32_t head_dim, int32_t rotary_dim) {
  constexpr int32_t kHeads = 5;
  constexpr int32_t kKvHeads = 2;
  const DType x = context.compute_dtype;
  const std::vector<AttentionRows> sequences = {{0, 100000, 3, false}, {1, 7, 2, true}};
  const DeviceRows rows(sequences, {std::vector<int32_t>(6251, 0), {0}});
  const std::vector<int32_t> positions = {100000, 100001, 100002, 7, 8};
  const auto T = static_cast<int64_t>(positions.size());
  const auto width = int64_t{2} * kHeads * head_dim;
  auto q = random_values(static_cast<size_t>(T * width), 41, 3.0F);
  std::ranges::transform(q, q.begin(), [&](float value) { return rounded(x, value); });
  const auto k = random_values(static_cast<size_t>(T * kKvHeads * head_dim), 42, 3.0F);
  const auto weight = random_values(static_cast<size_t>(head_dim), 43, 0.5F);
  std::vector<float> inv_freq;
  for (int32_t j = 0; j < rotary_dim / 2; ++j) {
    inv_freq.push_back(
        std::pow(1e7F, -2.0F * static_cast<float>(j) / static_cast<float>(rotary_dim)));
  }
  const CudaMemory q_memory = to_device(x, q);
  const CudaMemory k_memory = to_device(x, k);
  const CudaMemory weight_memory = to_device(DType::kF32, weight);
  const CudaMemory freq_memory = to_device(DType::kF32, inv_freq);
  CudaMemory axis(inv_freq.size());
  check_cuda(cudaMemset(axis.data(), 1, axis.bytes()));
  launch_qk_norm_rope(context, {.batch = &rows.view(),
                                .num_heads = kHeads,
                                .num_kv_heads = kKvHeads,
                                .head_dim = head_dim,
                                .rotary_dim = rotary_dim,
                                .q = q_memory.data(),
                                .q_stride = width,
                                .q_head_stride = 2 * head_dim,
                                .k = k_memory.data(),
                                .k_stride = int64_t{kKvHeads} * head_dim,
                                .q_weight = static_cast<const float*>(weight_memory.data()),
                                .k_weight = static_cast<const float*>(weight_memory.data()),
                                .inv_freq = static_cast<const float*>(freq_memory.data()),
                                .mrope_axis = static_cast<const uint8_t*>(axis.data())});
  check_cuda(cudaStreamSynchronize(context.stream));
  Error error;
  const auto check = [&](const std::vector<float>& before, const std::vector<float>& after,
                         int64_t t, int64_t first) {
    double squares = 0.0;
    for (int32_t d = 0; d < head_dim; ++d) {
      squares += std::pow(rounded(x, before[static_cast<size_t>(first + d)]), 2);
    }
    const double scale = 1.0 / std::sqrt(squares / head_dim + 1e-6);
    const auto normed = [&](int32_t d) {
      return rounded(x, before[static_cast<size_t>(first + d)]) * scale *
             (1.0 + weight[static_cast<size_t>(d)]);
    };
    for (int32_t d = 0; d < head_dim; ++d) {
      double value = normed(d);
      const int32_t half = rotary_dim / 2;
      if (d < rotary_dim) {
        const float angle = static_cast<float>(positions[static_cast<size_t>(t)]) *
                            inv_freq[static_cast<size_t>(d % half)];
        const double other = d < half ? -normed(d + half) : normed(d - half);
        value = value * std::cos(static_cast<double>(angle)) +
                other * std::sin(static_cast<double>(angle));
      }
      error.add(after[static_cast<size_t>(first + d)], value, first + d);
    }
  };
  const auto q_after = to_host(x, q_memory.data(), q.size());
  const auto k_after = to_host(x, k_memory.data(), k.size());
  bool gates_kept = true;
  for (int64_t t = 0; t < T; ++t) {
    for (int64_t h = 0; h < kHeads; ++h) {
      check(q, q_after, t, t * width + h * 2 * head_dim);
      for (int64_t d = 0; d < head_dim; ++d) {
        const auto at = static_cast<size_t>(t * width + (2 * h + 1) * head_dim + d);
        gates_kept = gates_kept && q_after[at] == q[at];
      }
    }
    for (int64_t h = 0; h < kKvHeads; ++h) {
      check(k, k_after, t, (t * kKvHeads + h) * head_dim);
    }
  }
  error.report(
      "qk_norm_rope " + std::to_string(head_dim) + ", rotary " + std::to_string(rotary_dim),
      x == DType::kF32 ? 1e-6 : 3e-3);
  report_condition("  gates untouched", gates_kept);
}

// One layer's attention over `batch` sequences, from a cache of random bytes of its own a layer.
void time_rows(CudaContext& context, const AttentionShape& shape, int32_t batch, int32_t cached,
               int32_t rows, bool recurrent) {
  std::vector<AttentionRows> sequences;
  std::vector<std::vector<int32_t>> blocks;
  const int32_t per_sequence = (cached + rows + kBlockSize - 1) / kBlockSize;
  for (int32_t s = 0; s < batch; ++s) {
    sequences.push_back({s, cached, rows, recurrent});
    blocks.emplace_back();
    for (int32_t b = 0; b < per_sequence; ++b) {
      blocks.back().push_back(b * batch + s);
    }
  }
  const DeviceRows device_rows(sequences, blocks);
  const int64_t T = int64_t{batch} * rows;
  const int64_t width = int64_t{shape.heads} * shape.head_dim;
  const Pattern pattern(DType::kBF16, 51, 1.0F);
  const int64_t kv_elements =
      int64_t{batch} * per_sequence * kBlockSize * 2 * shape.kv_heads * shape.head_dim;
  // Several caches in turn, so that a small one comes from memory too.
  const int64_t layers =
      std::clamp<int64_t>((int64_t{400} << 20) / (kv_elements * 2), 1, rows > 1 ? 2 : 40);
  std::vector<CudaMemory> caches;
  for (int64_t i = 0; i < layers; ++i) {
    caches.push_back(pattern.make(kv_elements));
  }
  const CudaMemory q = pattern.make(T * width * 2);
  const CudaMemory out(static_cast<size_t>(T * width) * sizeof(BFloat16));
  const auto work = [&] {
    for (const CudaMemory& cache : caches) {
      launch_attention(
          context, {.batch = &device_rows.view(),
                    .num_heads = shape.heads,
                    .num_kv_heads = shape.kv_heads,
                    .head_dim = shape.head_dim,
                    .scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim)),
                    .q = q.data(),
                    .gate = static_cast<std::byte*>(q.data()) + shape.head_dim * sizeof(BFloat16),
                    .q_stride = 2 * width,
                    .q_head_stride = 2 * int64_t{shape.head_dim},
                    .kv_cache = cache.data(),
                    .out = out.data(),
                    .out_stride = width});
    }
  };
  work();
  const double us = graph_microseconds(context, work, 9) / static_cast<double>(layers);
  const double pairs = static_cast<double>(T) * (cached + 0.5 * (rows + 1));
  const double flops = 4.0 * pairs * static_cast<double>(width) / kTensorFlops;
  const double bytes = static_cast<double>(kv_elements) * 2.0 / kCopyBytes;
  print_time(std::string(recurrent ? "decode" : "prefill") + " " + std::to_string(shape.heads) +
                 "/" + std::to_string(shape.kv_heads) + ", " + std::to_string(batch) + " x " +
                 std::to_string(cached) + " + " + std::to_string(rows),
             us, std::max(flops, bytes) * 1e6);
}

}  // namespace

void check_attention(CudaContext& context) {
  std::printf("attention, %s\n", context.compute_dtype == DType::kF32 ? "float32" : "bfloat16");
  check_norm_rope(context, 256, 64);
  check_norm_rope(context, 32, 8);
  check_norm_rope(context, 128, 128);
  const std::vector<AttentionRows> mixed = {
      {0, 0, 1, false},    {1, 0, 15, false},  {2, 0, 16, false},   {3, 0, 17, false},
      {4, 0, 63, false},   {5, 0, 64, false},  {6, 0, 65, false},   {7, 5, 170, false},
      {8, 700, 65, false}, {9, 79, 2, false},  {10, 80, 81, false}, {11, 300, 1, false},
      {12, 1, 1, true},    {13, 15, 1, true},  {14, 16, 1, true},   {15, 127, 1, true},
      {16, 128, 1, true},  {17, 700, 1, true}, {18, 4500, 1, true}, {19, 100, 3, true},
      {20, 0, 700, false}};
  const std::vector<AttentionRows> few = {{0, 0, 33, false}, {1, 530, 1, true}, {2, 37, 5, true}};
  check_shape(context, {24, 4, 256}, mixed);
  check_shape(context, {16, 2, 256}, mixed);
  check_shape(context, {4, 4, 256}, few);
  check_shape(context, {12, 1, 256}, few);
  check_shape(context, {32, 1, 256}, few);
  check_shape(context, {4, 2, 32}, few);
  check_shape(context, {6, 1, 128}, few);
  check_cuts(context, {6, 1, 256});
  check_cuts(context, {16, 2, 256});
}

void time_attention(CudaContext& context) {
  for (const AttentionShape& shape : {AttentionShape{24, 4, 256}, AttentionShape{16, 2, 256}}) {
    time_rows(context, shape, 1, 0, 8192, false);
    time_rows(context, shape, 1, 24576, 8192, false);
    time_rows(context, shape, 8, 0, 1024, false);
    for (const int32_t batch : {1, 8, 32, 128}) {
      time_rows(context, shape, batch, 1024, 1, true);
    }
    time_rows(context, shape, 1, 32768, 1, true);
    time_rows(context, shape, 32, 32768, 1, true);
  }
}

}  // namespace deltaserve::bench
