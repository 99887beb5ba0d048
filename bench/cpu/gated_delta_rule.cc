// gated_delta_rule: decode as bytes of state read and written beside the ceiling of reading,
// prefill as products beside the FMA peak. Shapes of a small (16 heads) and a middle (32 heads)
// model.
#include <cstdio>
#include <vector>

#include "backends/cpu/matrix_ops.h"
#include "bench_util.h"
#include "ops/batch_view.h"

using namespace deltaserve;

namespace {

constexpr int32_t kDim = 128;

struct Layer {
  int32_t heads = 0;
  int32_t sequences = 0;
  int32_t rows = 0;  // of each sequence
  bool recurrent = false;
};

double seconds_of(CpuContext& context, const Layer& layer) {
  const int32_t tokens = layer.sequences * layer.rows;
  std::vector<int32_t> starts;
  std::vector<int32_t> context_lens;
  std::vector<int32_t> slots;
  for (int32_t s = 0; s <= layer.sequences; ++s) {
    starts.push_back(s * layer.rows);
    context_lens.push_back(kChunkSize);
    slots.push_back(s);
  }
  const std::vector<uint8_t> recurrent(static_cast<size_t>(layer.sequences), layer.recurrent);
  const int64_t width = int64_t{3} * layer.heads * kDim;
  std::vector<float> qkv(static_cast<size_t>(tokens * width));
  for (size_t i = 0; i < qkv.size(); ++i) {
    qkv[i] = static_cast<float>(i * 7919 % 255) / 128.0F - 1.0F;
  }
  const std::vector<float> ab(static_cast<size_t>(tokens * 2 * layer.heads), 0.1F);
  const std::vector<float> per_head(static_cast<size_t>(layer.heads), 0.1F);
  std::vector<float> out(static_cast<size_t>(tokens * layer.heads * kDim));
  std::vector<float> state(
      static_cast<size_t>(int64_t{layer.sequences} * layer.heads * kDim * kDim), 0.01F);
  BatchView batch;
  batch.num_tokens = tokens;
  batch.num_seqs = layer.sequences;
  batch.cu_seqlens = starts.data();
  batch.context_lens = context_lens.data();
  batch.state_slots = slots.data();
  batch.recurrent = recurrent.data();
  return best_seconds([&] {
    cpu_gated_delta_rule(context, {.batch = &batch,
                                   .num_k_heads = layer.heads,
                                   .num_v_heads = layer.heads,
                                   .dk = kDim,
                                   .dv = kDim,
                                   .qkv = qkv.data(),
                                   .qkv_stride = width,
                                   .b = ab.data(),
                                   .a = ab.data() + layer.heads,
                                   .ba_stride = int64_t{2} * layer.heads,
                                   .A_log = per_head.data(),
                                   .dt_bias = per_head.data(),
                                   .state = state.data(),
                                   .out = out.data(),
                                   .out_stride = int64_t{layer.heads} * kDim});
  });
}

void bench_decode(const Bench& bench, CpuContext& context, int32_t heads, int32_t sequences) {
  const double time = seconds_of(context, {heads, sequences, 1, true});
  const double gb = 2.0 * sequences * heads * kDim * kDim * 4 / time / 1e9;
  std::printf(
      "decode  %2d heads x %4d sequences: %8.3f ms  %5.1f GB/s read + written (read alone %.1f)  "
      "%.2f us per head and thread\n",
      heads, sequences, time * 1e3, gb, bench.ceilings.read_gb_per_s,
      time * 1e6 * context.threads / (heads * sequences));
}

void bench_prefill(const Bench& bench, CpuContext& context, int32_t heads, int32_t rows,
                   bool recurrent) {
  const double time = seconds_of(context, {heads, 1, rows, recurrent});
  // The products of a chunk without those above the diagonal: K Kᵀ, Q Kᵀ, K S, Q S, the
  // substitution, P N and Kᵀ N.
  constexpr double kChunkFlop = 2.0 * 64 * kDim * (64 + 3 * kDim + 64);
  const double gflop = kChunkFlop * heads * rows / 64 / time / 1e9;
  std::printf("%s %2d heads x %4d tokens: %8.3f ms  %6.1f us per chunk, head and thread",
              recurrent ? "by token" : "prefill ", heads, rows, time * 1e3,
              time * 1e6 * context.threads / (heads * rows / 64.0));
  if (!recurrent) {
    std::printf("  %5.0f GFLOP/s (%2.0f %% of FMA)", gflop,
                gflop / bench.ceilings.fma_gflop_per_s * 100);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const Bench bench = start_bench(argc, argv);
  CpuContext context = bench.context();
  bench_decode(bench, context, 16, 1);
  bench_decode(bench, context, 32, 64);
  bench_prefill(bench, context, 16, 64, false);
  bench_prefill(bench, context, 16, 512, false);
  bench_prefill(bench, context, 16, 64, true);
  return 0;
}
