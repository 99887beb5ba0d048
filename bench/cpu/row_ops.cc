// Convolution, norms and sampling beside the read ceiling: bytes read and written once each.
#include <cstdio>
#include <random>
#include <vector>

#include "backends/cpu/row_ops.h"
#include "bench_util.h"

using namespace deltaserve;

namespace {

void report(const Bench& bench, const char* what, double bytes, double time) {
  std::printf("%-44s %9.1f us  %5.1f GB/s (%3.0f %%)\n", what, time * 1e6, bytes / time / 1e9,
              bytes / time / 1e9 / bench.ceilings.read_gb_per_s * 100);
}

// 8192 channels: the 4B model. T rows of one sequence, or T sequences of one row.
void bench_conv(const Bench& bench, CpuContext& context, int32_t T, bool decode) {
  constexpr int64_t kC = 8192;
  const int32_t seqs = decode ? T : 1;
  std::vector<int32_t> cu_seqlens;
  std::vector<int32_t> slots;
  for (int32_t s = 0; s <= seqs; ++s) {
    cu_seqlens.push_back(s * (T / seqs));
    slots.push_back(s);
  }
  const std::vector<int32_t> contexts(static_cast<size_t>(seqs), 64);
  const BatchView batch{.num_tokens = T,
                        .num_seqs = seqs,
                        .max_query_len = T / seqs,
                        .cu_seqlens = cu_seqlens.data(),
                        .context_lens = contexts.data(),
                        .state_slots = slots.data()};
  const std::vector<float> x(static_cast<size_t>(T * kC), 0.01F);
  const std::vector<float> weight(4 * kC, 0.25F);
  std::vector<float> state(static_cast<size_t>(seqs * 3 * kC), 0.5F);
  std::vector<float> out(x.size());
  const double time = best_seconds([&] {
    cpu_causal_conv1d(context, {.batch = &batch,
                                .C = kC,
                                .x = x.data(),
                                .x_stride = kC,
                                .weight = weight.data(),
                                .conv_state = state.data(),
                                .out = out.data(),
                                .out_stride = kC});
  });
  const double bytes = static_cast<double>(T * kC * 2 * dtype_size(context.compute_dtype)) +
                       static_cast<double>(seqs * 6 * kC + 4 * kC) * 4;
  report(bench, decode ? "causal_conv1d, sequences of one row" : "causal_conv1d, one sequence",
         bytes, time);
}

void bench_norm(const Bench& bench, CpuContext& context, int64_t T) {
  constexpr int64_t kH = 2560;
  std::vector<float> residual(static_cast<size_t>(T * kH), 0.5F);
  const std::vector<float> delta(residual.size(), 0.0F);
  const std::vector<float> weight(kH, 0.1F);
  std::vector<float> out(residual.size());
  const double time = best_seconds([&] {
    cpu_add_rms_norm(context, {.T = T,
                               .H = kH,
                               .residual = residual.data(),
                               .delta = delta.data(),
                               .weight = weight.data(),
                               .out = out.data()});
  });
  report(bench, "add_rms_norm",
         static_cast<double>(T * kH * (3 * 4 + dtype_size(context.compute_dtype))), time);
}

void bench_sample(const Bench& bench, CpuContext& context, const char* what, SamplingRow row) {
  constexpr int64_t kV = 248077;
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0F, 2.5F);
  std::vector<float> logits(kV);
  for (float& logit : logits) {
    logit = normal(random);
  }
  SampledToken out;
  const double time = best_seconds([&] {
    ++row.position;
    cpu_sample(
        context,
        {.B = 1, .V = kV, .logits = logits.data(), .logits_stride = kV, .rows = &row, .out = &out});
  });
  report(bench, what, kV * 4.0, time);
}

}  // namespace

int main(int argc, char** argv) {
  const Bench bench = start_bench(argc, argv);
  CpuContext context = bench.context();
  bench_conv(bench, context, 512, false);
  bench_conv(bench, context, 1, true);
  bench_conv(bench, context, 16, true);
  bench_norm(bench, context, 1);
  bench_norm(bench, context, 512);
  bench_sample(bench, context, "sample, greedy", {.temperature = 0.0F});
  bench_sample(bench, context, "sample, temperature", {.temperature = 0.8F});
  bench_sample(bench, context, "sample, top_k 20 top_p 0.95", {.top_p = 0.95F, .top_k = 20});
  bench_sample(bench, context, "sample, top_p 0.95", {.top_p = 0.95F});
  bench_sample(bench, context, "sample, min_p 0.05", {.min_p = 0.05F});
  const std::vector<TokenCount> counts(500, TokenCount{.token = 77, .in_output = 1});
  bench_sample(bench, context, "sample, top_k 20, 500 penalties, 20 logprobs",
               {.top_k = 20,
                .presence_penalty = 1.0F,
                .counts = counts.data(),
                .num_counts = 500,
                .num_logprobs = 20});
  return 0;
}
