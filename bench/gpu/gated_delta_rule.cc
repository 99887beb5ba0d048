// gated_delta_rule on CUDA: checks it against the definition in float64, then prints times beside
// their floors. Prefill starts from plain [tokens, heads, 128] rows, decode goes through the states
// of several layers in turn, so that they come from memory.
//   bench_gpu_gated_delta_rule [check|time]
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cuda/cuda_context.h"
#include "delta_rule_case.h"
#include "graph_timer.h"

using namespace deltaserve;
using namespace deltaserve::bench;

namespace {

// What one H200 was measured to do: a large bfloat16 product and a copy kernel (read + written).
constexpr double kTensorFlops = 780e12;
constexpr double kCopyBytes = 4.269e12;

// Bounds of the relative L2 error to float64. Of the chunked kernels' outputs 1.7e-3 is their
// rounding to bfloat16. The random keys here are correlated more than those of the recorded
// `typical` case.
struct Bounds {
  double typical = 0.0;
  double extreme = 0.0;
  double no_decay = 0.0;
  double parallel = 0.0;
  double state = 0.0;
  double parallel_state = 0.0;
};
constexpr Bounds kF32Bounds = {1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5};
constexpr Bounds kBF16Bounds = {3e-3, 5e-3, 5e-3, 1e-2, 5e-3, 4e-2};
constexpr Bounds kFP16Bounds = {2e-3, 5e-3, 2e-3, 5e-3, 1e-3, 1e-2};

const Bounds& bounds_of(const CudaContext& context) {
  if (context.compute_dtype == DType::kF32) return kF32Bounds;
  return context.fp16_delta_rule ? kFP16Bounds : kBF16Bounds;
}

int failures = 0;

struct Error {
  double squares = 0.0;
  double norm = 0.0;
  int64_t not_finite = 0;
  int64_t first_bad = -1;

  void add(double actual, double expected, int64_t index) {
    if (!std::isfinite(actual)) {
      ++not_finite;
      if (first_bad < 0) first_bad = index;
      return;
    }
    squares += (actual - expected) * (actual - expected);
    norm += expected * expected;
  }
  double relative() const { return std::sqrt(squares / norm); }
};

void report(const std::string& what, const Error& error, double bound) {
  const bool good = error.not_finite == 0 && error.relative() <= bound;
  failures += good ? 0 : 1;
  std::printf("  %-52s %9.2e (bound %.0e)", what.c_str(), error.relative(), bound);
  if (error.not_finite > 0) {
    std::printf("  %lld not finite, first %lld", static_cast<long long>(error.not_finite),
                static_cast<long long>(error.first_bad));
  }
  std::printf("%s\n", good ? "" : "  FAILED");
}

// Output and state of a few heads of every sequence but `skip`.
void check_values(const DeltaRuleCase& test, const std::string& name, double output_bound,
                  double state_bound, int32_t skip = -1) {
  const Shape& shape = test.shape();
  const std::vector<float> out = test.output();
  const int32_t Hv = shape.num_v_heads;
  Error output;
  Error states;
  int64_t start = 0;
  for (int32_t s = 0; s < static_cast<int32_t>(shape.sequences.size()); ++s) {
    const int32_t rows = shape.sequences[static_cast<size_t>(s)].rows;
    const std::vector<float> state = test.state(s);
    for (const int32_t head : {0, Hv / 2, Hv - 1}) {
      if (s == skip) continue;
      const DeltaRuleCase::Expected expected = test.expected(s, head);
      for (int64_t i = 0; i < int64_t{rows} * kDim; ++i) {
        const int64_t at = ((start + i / kDim) * Hv + head) * kDim + i % kDim;
        output.add(out[static_cast<size_t>(at)], expected.output[static_cast<size_t>(i)], at);
      }
      for (int64_t i = 0; i < kDim * kDim; ++i) {
        const auto at = static_cast<size_t>(int64_t{head} * kDim * kDim + i);
        states.add(state[at], expected.state[static_cast<size_t>(i)], s * 1000000 + i);
      }
    }
    start += rows;
  }
  report(name + ", output", output, output_bound);
  report(name + ", state", states, state_bound);
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void report_same(const char* what, const std::vector<float>& a, const std::vector<float>& b) {
  size_t first = 0;
  while (first < a.size() && std::memcmp(&a[first], &b[first], sizeof(float)) == 0) ++first;
  const bool good = same(a, b);
  failures += good ? 0 : 1;
  std::printf("  %-52s %s\n", what, good ? "same bits" : "DIFFERENT, FAILED");
  if (!good) {
    std::printf("    first at %zu of %zu: %g and %g\n", first, a.size(),
                static_cast<double>(a[first]), static_cast<double>(b[first]));
  }
}

// Batches that mix starts, mid-chunk starts, tails and recurrent sequences.
const std::vector<Sequence> kMixed = {{0, 130, false}, {64, 1, false},   {100, 70, false},
                                      {0, 3, false},   {77, 5, true},    {0, 2, true},
                                      {63, 2, false},  {128, 64, false}, {1000, 1, true},
                                      {40, 24, false}, {5, 300, false}};

void check_values_of(CudaContext& context) {
  const Bounds& bounds = bounds_of(context);
  const auto one = [&](const char* name, Shape shape, Inputs inputs, double output, double state) {
    DeltaRuleCase test(context, std::move(shape), inputs, 7);
    test.run();
    check_values(test, name, output, state);
  };
  const std::vector<Sequence> prompt = {{0, 1000, false}, {192, 333, false}};
  const std::vector<Sequence> decode = {{9, 1, true}, {0, 1, true}, {70, 6, true}};
  one("one full chunk", {1, 1, {{0, 64, false}}}, Inputs::kTypical, bounds.typical, bounds.state);
  one("two chunks, 1 key and 3 value heads", {1, 3, {{64, 128, false}}}, Inputs::kTypical,
      bounds.typical, bounds.state);
  one("typical, 16/48 heads", {16, 48, prompt}, Inputs::kTypical, bounds.typical, bounds.state);
  one("typical, 16/32 heads", {16, 32, prompt}, Inputs::kTypical, bounds.typical, bounds.state);
  one("typical, 4/4 heads", {4, 4, prompt}, Inputs::kTypical, bounds.typical, bounds.state);
  one("typical, 2/8 heads", {2, 8, prompt}, Inputs::kTypical, bounds.typical, bounds.state);
  one("extreme", {16, 48, prompt}, Inputs::kExtreme, bounds.extreme, bounds.state);
  one("no decay", {16, 48, prompt}, Inputs::kNoDecay, bounds.no_decay, bounds.state);
  one("parallel keys", {16, 48, prompt}, Inputs::kParallel, bounds.parallel, bounds.parallel_state);
  one("mixed batch", {2, 6, kMixed}, Inputs::kTypical, bounds.typical, bounds.state);
  one("mixed batch, 16/48 heads", {16, 48, kMixed}, Inputs::kTypical, bounds.typical, bounds.state);
  one("many streams, parallel keys", {16, 32, std::vector<Sequence>(9, {64, 320, false})},
      Inputs::kParallel, bounds.parallel, bounds.parallel_state);
  one("many streams, extreme", {16, 32, std::vector<Sequence>(9, {64, 320, false})},
      Inputs::kExtreme, bounds.extreme, bounds.state);
  one("many streams, 4/16 heads", {4, 16, std::vector<Sequence>(40, {0, 100, false})},
      Inputs::kTypical, bounds.typical, bounds.state);
  one("many streams", {16, 48, std::vector<Sequence>(6, {0, 256, false})}, Inputs::kTypical,
      bounds.typical, bounds.state);
  one("long, solved beside the carried state", {2, 6, {{0, 2500, false}}}, Inputs::kTypical,
      bounds.typical, bounds.state);
  one("decode", {16, 48, decode}, Inputs::kTypical, bounds.typical, 1e-5);
}

// With many heads the batch takes the form for a full device, its sequences alone the other.
void check_bits(CudaContext& context, int32_t num_k_heads, int32_t num_v_heads) {
  std::printf("  %d/%d heads\n", num_k_heads, num_v_heads);
  DeltaRuleCase test(context, {num_k_heads, num_v_heads, kMixed}, Inputs::kTypical, 11);
  test.run();
  const std::vector<float> out = test.output();
  std::vector<std::vector<float>> states;
  const auto count = static_cast<int32_t>(kMixed.size());
  states.reserve(kMixed.size());
  for (int32_t s = 0; s < count; ++s) states.push_back(test.state(s));
  const auto compare_states = [&](const char* what) {
    std::vector<float> a;
    std::vector<float> b;
    for (int32_t s = 0; s < count; ++s) {
      const std::vector<float> state = test.state(s);
      a.insert(a.end(), state.begin(), state.end());
      b.insert(b.end(), states[static_cast<size_t>(s)].begin(),
               states[static_cast<size_t>(s)].end());
    }
    report_same(what, a, b);
  };
  test.reset_states();
  for (int32_t s = 0; s < count; ++s) {
    test.run_rows(s, 0, kMixed[static_cast<size_t>(s)].rows);
  }
  report_same("each sequence alone, output", test.output(), out);
  compare_states("each sequence alone, states");
  test.reset_states();
  for (int32_t s = 0; s < count; ++s) {  // cut at chunk borders, decoded tokens one by one
    const Sequence& sequence = kMixed[static_cast<size_t>(s)];
    for (int32_t at = 0; at < sequence.rows;) {
      const int32_t to_border = 64 - (sequence.context_len + at) % 64;
      const int32_t rows = std::min(sequence.recurrent ? 1 : to_border, sequence.rows - at);
      test.run_rows(s, at, rows);
      at += rows;
    }
  }
  report_same("in pieces, output", test.output(), out);
  compare_states("in pieces, states");
  test.reset_states();
  test.poison_rows(3);
  test.run();
  check_values(test, "with a neighbour of NaN", bounds_of(context).typical,
               bounds_of(context).state, 3);
  int64_t finite = 0;
  const std::vector<float> poisoned = test.output();
  const size_t row = static_cast<size_t>(num_v_heads) * kDim;
  for (size_t i = 201 * row; i < 204 * row; ++i) finite += std::isfinite(poisoned[i]) ? 1 : 0;
  failures += finite == 0 ? 0 : 1;
  std::printf("  %-52s %lld of %zu finite%s\n", "the rows of NaN themselves",
              static_cast<long long>(finite), 3 * row, finite == 0 ? "" : "  FAILED");
}

void time_prefill(CudaContext& context, int32_t heads, int32_t count, int32_t rows) {
  DeltaRuleCase test(
      context, {16, heads, std::vector<Sequence>(static_cast<size_t>(count), {64, rows, false})},
      Inputs::kTypical, 3);
  test.run();
  const double us = graph_microseconds(context, [&] { test.run(); });
  const double T = static_cast<double>(count) * rows;
  // A chunk: K K^T and Q K^T, then S [K ; Q]^T, W [T' ; R]^T and U K a value head.
  const double flop = T / 64 * (16 * 2.0 * 2 * 64 * 64 * kDim + heads * 2.0 * 128 * 128 * 256);
  const double bytes = T * kDim * 2.0 * (2 * 16 + 2 * heads);
  std::printf(
      "prefill %s 16/%d heads, %d x %5d: %8.1f us  (floors: %6.1f matrix unit, %6.1f bytes)\n",
      context.fp16_delta_rule ? "fp16" : "bf16", heads, count, rows, us, flop / kTensorFlops * 1e6,
      bytes / kCopyBytes * 1e6);
  std::fflush(stdout);
}

void time_decode(CudaContext& context, int32_t heads, int32_t batch, int32_t layers) {
  DeltaRuleCase test(context,
                     {16, heads, std::vector<Sequence>(static_cast<size_t>(batch), {64, 1, true})},
                     Inputs::kTypical, 5);
  test.run();
  const size_t state_floats = static_cast<size_t>(batch) * static_cast<size_t>(heads) * kDim * kDim;
  CudaMemory states(state_floats * sizeof(float) * static_cast<size_t>(layers));
  check_cuda(cudaMemset(states.data(), 0, states.bytes()));
  GatedDeltaRuleArgs args = test.args();
  const double us = graph_microseconds(context,
                                       [&] {
                                         for (int32_t layer = 0; layer < layers; ++layer) {
                                           args.state = static_cast<float*>(states.data()) +
                                                        static_cast<size_t>(layer) * state_floats;
                                           test.launch(args);
                                         }
                                       }) /
                    layers;
  const double bytes =
      2.0 * static_cast<double>(state_floats) * 4 + batch * (2.0 * 16 + 2.0 * heads) * kDim * 2;
  std::printf("decode %d heads, batch %3d: %8.2f us  (floor %7.2f: %5.1f %% of copy bandwidth)\n",
              heads, batch, us, bytes / kCopyBytes * 1e6, bytes / kCopyBytes * 1e6 / us * 100);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode != "time") {
    const auto check = [](const char* name, CudaContext& context) {
      std::printf("%s\n", name);
      check_values_of(context);
      check_bits(context, 2, 6);
      check_bits(context, 16, 48);
    };
    CudaContext float32(DType::kF32, 0);
    check("float32", float32);
    CudaContext bfloat16(DType::kBF16, 0);
    check("bfloat16", bfloat16);
    CudaContext float16(DType::kBF16, 0, false, true);
    check("bfloat16, products of float16", float16);
    std::printf("%d checks failed\n", failures);
  }
  if (mode != "check") {
    CudaContext context(DType::kBF16, 0);
    std::printf("%s; floors at %.0f TFLOP/s and %.0f GB/s\n", context.device.name.c_str(),
                kTensorFlops / 1e12, kCopyBytes / 1e9);
    CudaContext precise(DType::kBF16, 0, false, true);
    for (CudaContext* of : {&context, &precise}) {
      time_prefill(*of, 48, 1, 8192);
      time_prefill(*of, 48, 1, 32768);
      time_prefill(*of, 48, 4, 8192);
      time_prefill(*of, 32, 1, 8192);
      time_prefill(*of, 32, 8, 4096);
    }
    for (const int32_t heads : {48, 32}) {
      time_decode(context, heads, 1, 48);
      time_decode(context, heads, 32, 12);
      time_decode(context, heads, 256, 3);
    }
  }
  return failures == 0 ? 0 : 1;
}
