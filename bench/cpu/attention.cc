// attention: decode beside the read ceiling (bytes of K and V seen), prefill beside the FMA peak
// (two products for each visible query-key pair). Shape of the 4B model: 16 heads, 4 kv heads, 256.
#include <cstdio>
#include <cstring>
#include <vector>

#include "backends/cpu/memory.h"
#include "backends/cpu/row_ops.h"
#include "bench_util.h"

using namespace deltaserve;

namespace {

constexpr int64_t kHeads = 16;
constexpr int64_t kKvHeads = 4;
constexpr int64_t kHeadDim = 256;

// Equal sequences with `context` tokens before `rows` new ones.
struct Step {
  std::vector<int32_t> cu_seqlens = {0};
  std::vector<int32_t> context_lens;
  std::vector<int32_t> block_tables;
  BatchView batch;

  Step(int32_t seqs, int32_t context, int32_t rows) {
    const int32_t blocks = (context + rows + kBlockSize - 1) / kBlockSize;
    const int32_t total = seqs * blocks;
    for (int32_t s = 0; s < seqs; ++s) {
      cu_seqlens.push_back(cu_seqlens.back() + rows);
      context_lens.push_back(context);
    }
    for (int32_t b = 0; b < total; ++b) {  // neighbours far apart, as after some hours of service
      block_tables.push_back(static_cast<int32_t>(int64_t{b} * 7919 % total));
    }
    batch.num_tokens = seqs * rows;
    batch.num_seqs = seqs;
    batch.max_query_len = rows;
    batch.max_blocks_per_seq = blocks;
    batch.cu_seqlens = cu_seqlens.data();
    batch.context_lens = context_lens.data();
    batch.block_tables = block_tables.data();
  }
};

double attention_seconds(CpuContext& context, const Step& step) {
  const CacheShape shape{.num_kv_heads = kKvHeads, .head_dim = kHeadDim};
  const auto cache_bytes = static_cast<size_t>(cpu_kv_block_bytes(context.compute_dtype, shape)) *
                           step.block_tables.size();
  const int64_t stride = kHeads * kHeadDim * 2;
  const auto elements = static_cast<size_t>(step.batch.num_tokens * stride);
  const HugeBuffer cache = HugeBuffer::allocate(cache_bytes).value();
  std::memset(cache.data(), 0x3c, cache_bytes);
  const std::vector<float> q(elements, 0.0F);
  std::vector<float> out(elements);
  return best_seconds([&] {
    cpu_attention(context, {.batch = &step.batch,
                            .num_heads = kHeads,
                            .num_kv_heads = kKvHeads,
                            .head_dim = kHeadDim,
                            .scale = 0.0625F,
                            .q = q.data(),
                            .gate = q.data(),
                            .q_stride = stride,
                            .q_head_stride = kHeadDim * 2,
                            .kv_cache = cache.data(),
                            .out = out.data(),
                            .out_stride = kHeads * kHeadDim});
  });
}

void bench_step(const Bench& bench, CpuContext& context, int32_t seqs, int32_t context_len,
                int32_t rows) {
  const double time = attention_seconds(context, Step(seqs, context_len, rows));
  const double read = static_cast<double>(int64_t{seqs} * (context_len + rows) * 2 * kKvHeads *
                                          kHeadDim * dtype_size(context.compute_dtype));
  const double pairs = static_cast<double>(seqs) * rows * (context_len + (rows + 1) / 2.0);
  const double gflop = pairs * 4.0 * kHeads * kHeadDim / time / 1e9;
  std::printf(
      "seqs %3d context %6d rows %4d: %9.3f ms  %5.1f GB/s (%3.0f %%)  %6.1f GFLOP/s (%3.0f %%)\n",
      seqs, context_len, rows, time * 1e3, read / time / 1e9,
      read / time / 1e9 / bench.ceilings.read_gb_per_s * 100, gflop,
      gflop / bench.ceilings.fma_gflop_per_s * 100);
}

}  // namespace

int main(int argc, char** argv) {
  const Bench bench = start_bench(argc, argv);
  CpuContext context = bench.context();
  for (const int32_t context_len : {511, 4095, 65535}) {
    bench_step(bench, context, 1, context_len, 1);
  }
  bench_step(bench, context, 16, 4095, 1);
  bench_step(bench, context, 1, 8188, 4);
  bench_step(bench, context, 1, 0, 512);
  bench_step(bench, context, 1, 7680, 512);
  return 0;
}
