// moe_topk and moe: against float64, a token's bits alone and in a batch, and times of the 35B-A3B
// layer (256 experts of 512, 8 a token, H 2048) with several layers in turn.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "graph_timer.h"
#include "kernel_case.h"

namespace deltaserve::bench {
namespace {

struct Layer {
  int64_t E;
  int64_t I;
  int64_t H;
  int32_t K;
};

int64_t padded_rows(const Layer& layer) {
  return (layer.I + kGateUpGroup - 1) / kGateUpGroup * 2 * kGateUpGroup;
}

CudaExperts make_experts(const Layer& layer, const Pattern& gate_up, const Pattern& down) {
  CudaExperts experts;
  experts.E = layer.E;
  experts.I = layer.I;
  experts.H = layer.H;
  experts.gate_up = gate_up.make(layer.E * padded_rows(layer) * layer.H);
  experts.down = down.make(layer.E * layer.H * layer.I);
  return experts;
}

// Inputs of T tokens; `spread` false sends all of them to the same experts.
struct Tokens {
  int64_t T;
  std::vector<float> x, weights, shared, shared_gate;
  std::vector<int32_t> ids;
  CudaMemory x_memory, weights_memory, shared_memory, shared_gate_memory, ids_memory, out;

  Tokens(DType dtype, const Layer& layer, int64_t count, bool spread) : T(count) {
    const auto size = static_cast<size_t>(T * layer.H);
    x = random_values(size, 1, 1.0F);
    std::ranges::transform(x, x.begin(), [&](float value) { return rounded(dtype, value); });
    shared = random_values(size, 2, 1.0F);
    shared_gate = random_values(static_cast<size_t>(T), 3, 2.0F);
    std::mt19937 generator(4);
    std::vector<int32_t> all(static_cast<size_t>(layer.E));
    std::iota(all.begin(), all.end(), 0);
    for (int64_t t = 0; t < T; ++t) {
      if (spread || t == 0) {
        std::ranges::shuffle(all, generator);
      }
      std::vector<int32_t> chosen(all.begin(), all.begin() + layer.K);
      std::ranges::sort(chosen);
      ids.insert(ids.end(), chosen.begin(), chosen.end());
      for (int32_t k = 0; k < layer.K; ++k) {
        weights.push_back(static_cast<float>(1 + generator() % 100) / 100.0F);
      }
    }
    x_memory = to_device(dtype, x);
    weights_memory = to_device(DType::kF32, weights);
    shared_memory = to_device(DType::kF32, shared);
    shared_gate_memory = to_device(DType::kF32, shared_gate);
    ids_memory = to_device(ids);
    out = to_device(DType::kF32, std::vector<float>(size, NAN));
  }

  MoeArgs args(DType dtype, const Layer& layer, const CudaExperts& experts, int64_t first,
               int64_t count) const {
    const auto at = [](const CudaMemory& memory, int64_t index, int64_t size) {
      return static_cast<std::byte*>(memory.data()) + index * size;
    };
    return {
        .T = count,
        .K = layer.K,
        .x = at(x_memory, first * layer.H, dtype_size(dtype)),
        .x_stride = layer.H,
        .experts = &experts,
        .expert_ids =
            reinterpret_cast<const int32_t*>(at(ids_memory, first * layer.K, sizeof(int32_t))),
        .weights =
            reinterpret_cast<const float*>(at(weights_memory, first * layer.K, sizeof(float))),
        .shared = reinterpret_cast<const float*>(at(shared_memory, first * layer.H, sizeof(float))),
        .shared_gate = reinterpret_cast<const float*>(at(shared_gate_memory, first, sizeof(float))),
        .shared_gate_stride = 1,
        .out = reinterpret_cast<float*>(at(out, first * layer.H, sizeof(float)))};
  }
};

std::vector<double> expected_row(DType dtype, const Layer& layer, const Pattern& gate_up,
                                 const Pattern& down, const Tokens& tokens, int64_t t) {
  const double gate = 1.0 / (1.0 + std::exp(-tokens.shared_gate[static_cast<size_t>(t)]));
  std::vector<double> out;
  for (int64_t h = 0; h < layer.H; ++h) {
    out.push_back(gate * tokens.shared[static_cast<size_t>(t * layer.H + h)]);
  }
  std::vector<float> act(static_cast<size_t>(layer.I));
  const float* x = &tokens.x[static_cast<size_t>(t * layer.H)];
  for (int32_t k = 0; k < layer.K; ++k) {
    const auto entry = static_cast<size_t>(t * layer.K + k);
    const int64_t e = tokens.ids[entry];
    for (int64_t i = 0; i < layer.I; ++i) {
      const int64_t row =
          e * padded_rows(layer) + i / kGateUpGroup * 2 * kGateUpGroup + i % kGateUpGroup;
      double g = 0.0;
      double u = 0.0;
      for (int64_t h = 0; h < layer.H; ++h) {
        g += static_cast<double>(gate_up[row * layer.H + h]) * x[h];
        u += static_cast<double>(gate_up[(row + kGateUpGroup) * layer.H + h]) * x[h];
      }
      act[static_cast<size_t>(i)] =
          rounded(dtype, static_cast<float>(g / (1.0 + std::exp(-g)) * u));
    }
    for (int64_t h = 0; h < layer.H; ++h) {
      double sum = 0.0;
      for (int64_t i = 0; i < layer.I; ++i) {
        sum += static_cast<double>(down[(e * layer.H + h) * layer.I + i]) *
               act[static_cast<size_t>(i)];
      }
      out[static_cast<size_t>(h)] += tokens.weights[entry] * sum;
    }
  }
  return out;
}

void check_moe(CudaContext& context, const Layer& layer, int64_t T, bool spread,
               int64_t rows_to_check) {
  const DType dtype = context.compute_dtype;
  const Pattern gate_up(dtype, 21, 0.1F);
  const Pattern down(dtype, 22, 0.1F);
  const CudaExperts experts = make_experts(layer, gate_up, down);
  const Tokens tokens(dtype, layer, T, spread);
  launch_moe(context, tokens.args(dtype, layer, experts, 0, T));
  check_cuda(cudaStreamSynchronize(context.stream));
  const auto count = static_cast<size_t>(T * layer.H);
  const std::vector<float> actual = to_host(DType::kF32, tokens.out.data(), count);
  Error error;
  for (int64_t i = 0; i < std::min(T, rows_to_check); ++i) {
    const int64_t t = i * T / std::min(T, rows_to_check);
    const auto expected = expected_row(dtype, layer, gate_up, down, tokens, t);
    for (int64_t h = 0; h < layer.H; ++h) {
      error.add(actual[static_cast<size_t>(t * layer.H + h)], expected[static_cast<size_t>(h)],
                t * layer.H + h);
    }
  }
  const std::string what = "moe " + std::to_string(layer.E) + " x " + std::to_string(layer.I) +
                           " H " + std::to_string(layer.H) + ", " + std::to_string(T) +
                           " tokens x " + std::to_string(layer.K) +
                           (spread ? "" : ", all the same");
  error.report(what, dtype == DType::kF32 ? 1e-5 : 1e-3);
  // Parts of the batch: in the same form, or in another that promises the same bits.
  const std::vector<int64_t> parts =
      T > 128 ? std::vector<int64_t>{T / 2 + 1, 129} : std::vector<int64_t>{T / 2, 3, 1};
  for (const int64_t part : parts) {
    if (part > 0 && part < T && (T <= 128 || part > 128)) {
      launch_moe(context, tokens.args(dtype, layer, experts, T - part, part));
      check_cuda(cudaStreamSynchronize(context.stream));
      report_same_bits("  " + std::to_string(part) + " of them",
                       to_host(DType::kF32, tokens.out.data(), count), actual);
    }
  }
}

void check_topk(CudaContext& context, int32_t E, int32_t K, bool renormalize) {
  constexpr int64_t kTokens = 33;
  const int64_t stride = E + 3;
  std::vector<float> logits =
      random_values(static_cast<size_t>(kTokens * stride), static_cast<uint64_t>(E), 5.0F);
  std::fill_n(logits.begin(), E, 1.25F);          // all equal: the lowest ids
  logits[static_cast<size_t>(stride) + 3] = NAN;  // NaN everywhere: the lowest ids
  const CudaMemory logits_memory = to_device(DType::kF32, logits);
  const CudaMemory ids(static_cast<size_t>(kTokens * K) * sizeof(int32_t));
  const CudaMemory weights(static_cast<size_t>(kTokens * K) * sizeof(float));
  launch_moe_topk(context, {.T = kTokens,
                            .E = E,
                            .K = K,
                            .logits = static_cast<const float*>(logits_memory.data()),
                            .logits_stride = stride,
                            .renormalize = renormalize,
                            .expert_ids = static_cast<int32_t*>(ids.data()),
                            .weights = static_cast<float*>(weights.data())});
  check_cuda(cudaStreamSynchronize(context.stream));
  std::vector<int32_t> actual(static_cast<size_t>(kTokens * K));
  check_cuda(cudaMemcpy(actual.data(), ids.data(), ids.bytes(), cudaMemcpyDeviceToHost));
  const auto actual_weights = to_host(DType::kF32, weights.data(), actual.size());
  Error error;
  bool same_ids = true;
  for (int64_t t = 0; t < kTokens; ++t) {
    const float* row = &logits[static_cast<size_t>(t * stride)];
    std::vector<int32_t> order(static_cast<size_t>(E));
    std::iota(order.begin(), order.end(), 0);
    if (t > 1) {
      std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return row[a] > row[b]; });
    }
    std::sort(order.begin(), order.begin() + K);
    double all = 0.0;
    double chosen = 0.0;
    for (int32_t e = 0; e < E; ++e) {
      all += std::exp(static_cast<double>(row[e]));
    }
    for (int32_t k = 0; k < K; ++k) {
      chosen += std::exp(static_cast<double>(row[order[static_cast<size_t>(k)]]));
    }
    for (int32_t k = 0; k < K; ++k) {
      const auto at = static_cast<size_t>(t * K + k);
      same_ids = same_ids && actual[at] == order[static_cast<size_t>(k)];
      if (t != 1) {
        error.add(actual_weights[at],
                  std::exp(static_cast<double>(row[order[static_cast<size_t>(k)]])) /
                      (renormalize ? chosen : all),
                  t * K + k);
      }
    }
  }
  const std::string what = "moe_topk " + std::to_string(K) + " of " + std::to_string(E);
  report_condition(what + ": ids", same_ids);
  error.report(what + ": weights", 1e-6);
}

void time_tokens(CudaContext& context, const Layer& layer, const std::vector<CudaExperts>& layers,
                 int64_t T) {
  const Tokens tokens(DType::kBF16, layer, T, true);
  const auto work = [&] {
    for (const CudaExperts& experts : layers) {
      launch_moe(context, tokens.args(DType::kBF16, layer, experts, 0, T));
    }
  };
  work();
  const double us = graph_microseconds(context, work, 9) / static_cast<double>(layers.size());
  std::vector<bool> active(static_cast<size_t>(layer.E), false);
  for (const int32_t e : tokens.ids) {
    active[static_cast<size_t>(e)] = true;
  }
  const auto experts = static_cast<double>(std::ranges::count(active, true));
  const double matrices = 3.0 * static_cast<double>(layer.I * layer.H);
  const double bytes = experts * matrices * 2.0 / kCopyBytes;
  const double flops = 2.0 * matrices * static_cast<double>(T * layer.K) / kTensorFlops;
  print_time("35B experts, " + std::to_string(T) + " tokens (" +
                 std::to_string(static_cast<int>(experts)) + " active)",
             us, std::max(bytes, flops) * 1e6);
}

}  // namespace

void check_experts(CudaContext& context) {
  std::printf("experts, %s\n", context.compute_dtype == DType::kF32 ? "float32" : "bfloat16");
  for (const int32_t E : {8, 16, 128, 256, 512}) {
    check_topk(context, E, E == 8 ? 2 : 8, true);
  }
  check_topk(context, 512, 10, false);
  for (const int64_t T : {1, 2, 17, 128, 129, 300}) {
    check_moe(context, {8, 128, 256, 5}, T, true, 8);
    check_moe(context, {8, 32, 64, 2}, T, true, 8);
  }
  check_moe(context, {8, 192, 320, 5}, 700, false, 8);
  check_moe(context, {8, 64, 128, 5}, 128, false, 8);
  check_moe(context, {256, 512, 2048, 8}, 1, true, 1);
  check_moe(context, {256, 512, 2048, 8}, 64, true, 3);
  check_moe(context, {512, 512, 2048, 10}, 700, true, 3);
  check_moe(context, {16, 512, 2048, 8}, 3000, true, 8);
}

void time_experts(CudaContext& context) {
  const Layer layer{256, 512, 2048, 8};
  const Pattern gate_up(DType::kBF16, 31, 0.1F);
  const Pattern down(DType::kBF16, 32, 0.1F);
  std::vector<CudaExperts> layers;
  for (int i = 0; i < 4; ++i) {
    layers.push_back(make_experts(layer, gate_up, down));
  }
  context.limits.max_tokens = 8192;
  for (const int64_t T : {8192, 4096, 2048, 512, 256, 128, 64, 32, 8, 4, 1}) {
    time_tokens(context, layer, layers, T);
  }
}

}  // namespace deltaserve::bench
