// moe of the CPU backend against double sums per token, and its bits against batch and threads.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/matrix_ops.h"
#include "cpu_test_util.h"
#include "placement_util.h"

namespace deltaserve {
namespace {

struct Experts {
  int64_t E;
  int64_t I;
  int64_t H;
  int32_t K;
  std::vector<std::vector<float>> gate, up, down;
  std::vector<OwnedTensor> tensors;
  std::vector<TensorView> views[3];

  Experts(int64_t experts, int64_t inner, int64_t hidden, int32_t top_k)
      : E(experts), I(inner), H(hidden), K(top_k) {
    for (int64_t e = 0; e < E; ++e) {
      const auto seed = static_cast<uint32_t>(100 + 3 * e);
      const auto count = static_cast<size_t>(I * H);
      gate.push_back(uniform_values(count, seed, 0.25F));
      up.push_back(uniform_values(count, seed + 1, 0.25F));
      down.push_back(uniform_values(count, seed + 2, 0.25F));
      tensors.emplace_back(DType::kBF16, std::vector<int64_t>{I, H}, gate.back());
      tensors.emplace_back(DType::kBF16, std::vector<int64_t>{I, H}, up.back());
      tensors.emplace_back(DType::kBF16, std::vector<int64_t>{H, I}, down.back());
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      views[i % 3].push_back(tensors[i].view);
    }
  }
};

// Inputs of T tokens; `same` sends all of them to the same experts.
struct Tokens {
  int64_t T;
  std::vector<float> x, weights, shared, shared_gate;
  std::vector<int32_t> ids;

  Tokens(const Experts& experts, int64_t count, bool same = false) : T(count) {
    x = uniform_values(static_cast<size_t>(T * experts.H), 1);
    shared = uniform_values(static_cast<size_t>(T * experts.H), 2);
    shared_gate = uniform_values(static_cast<size_t>(T), 3);
    std::mt19937 generator(4);
    std::vector<int32_t> all(static_cast<size_t>(experts.E));
    std::iota(all.begin(), all.end(), 0);
    for (int64_t t = 0; t < T; ++t) {
      if (!same) {
        std::shuffle(all.begin(), all.end(), generator);
      }
      std::vector<int32_t> chosen(all.begin(), all.begin() + experts.K);
      std::sort(chosen.begin(), chosen.end());
      ids.insert(ids.end(), chosen.begin(), chosen.end());
      for (int32_t k = 0; k < experts.K; ++k) {
        weights.push_back(static_cast<float>(1 + generator() % 100) / 100.0F);
      }
    }
  }
};

std::vector<float> run_moe(CpuContext& context, const Experts& experts, const ExpertsWeight& weight,
                           const Tokens& tokens, int64_t first, int64_t T) {
  const DType x_dtype = context.compute_dtype;
  const int64_t row = experts.H * dtype_size(x_dtype);
  const auto x = to_x(x_dtype, tokens.x);
  std::vector<float> out(static_cast<size_t>(T * experts.H));
  cpu_moe(context, {.T = T,
                    .K = experts.K,
                    .x = x.data() + first * row,
                    .x_stride = experts.H,
                    .experts = &weight,
                    .expert_ids = tokens.ids.data() + first * experts.K,
                    .weights = tokens.weights.data() + first * experts.K,
                    .shared = tokens.shared.data() + first * experts.H,
                    .shared_gate = tokens.shared_gate.data() + first,
                    .shared_gate_stride = 1,
                    .out = out.data()});
  return out;
}

std::unique_ptr<ExpertsWeight> make_weight(CpuContext& context, const Experts& experts) {
  return make_cpu_experts(context, experts.views[0], experts.views[1], experts.views[2]).value();
}

double dot(const float* a, const float* b, int64_t count) {
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    sum += static_cast<double>(a[i]) * b[i];
  }
  return sum;
}

std::vector<double> expected_row(const Experts& experts, const Tokens& tokens, int64_t t) {
  const double gate = 1.0 / (1.0 + std::exp(-tokens.shared_gate[static_cast<size_t>(t)]));
  std::vector<double> out;
  for (int64_t h = 0; h < experts.H; ++h) {
    out.push_back(gate * tokens.shared[static_cast<size_t>(t * experts.H + h)]);
  }
  std::vector<float> act(static_cast<size_t>(experts.I));
  for (int32_t k = 0; k < experts.K; ++k) {
    const auto pair = static_cast<size_t>(t * experts.K + k);
    const auto e = static_cast<size_t>(tokens.ids[pair]);
    const float* x = &tokens.x[static_cast<size_t>(t * experts.H)];
    for (int64_t i = 0; i < experts.I; ++i) {
      const double g = dot(x, &experts.gate[e][static_cast<size_t>(i * experts.H)], experts.H);
      const double u = dot(x, &experts.up[e][static_cast<size_t>(i * experts.H)], experts.H);
      act[static_cast<size_t>(i)] = static_cast<float>(g / (1.0 + std::exp(-g)) * u);
    }
    for (int64_t h = 0; h < experts.H; ++h) {
      out[static_cast<size_t>(h)] +=
          tokens.weights[pair] *
          dot(act.data(), &experts.down[e][static_cast<size_t>(h * experts.I)], experts.I);
    }
  }
  return out;
}

class CpuMoe : public testing::TestWithParam<CpuIsa> {};

TEST_P(CpuMoe, MatchesDoubleSums) {
  for (const auto& [E, I, H, K] : {std::tuple{8, 32, 64, 2}, std::tuple{5, 24, 48, 3}}) {
    const Experts experts(E, I, H, K);
    for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
      CpuContext context(x_dtype, GetParam(), 2);
      const auto weight = make_weight(context, experts);
      for (const int64_t T : {1, 3, 40}) {
        const Tokens tokens(experts, T);
        const auto out = run_moe(context, experts, *weight, tokens, 0, T);
        for (int64_t t = 0; t < T; ++t) {
          const auto expected = expected_row(experts, tokens, t);
          for (int64_t h = 0; h < H; ++h) {
            const double value = expected[static_cast<size_t>(h)];
            const double tolerance = x_dtype == DType::kF32 ? 1e-5 : 0.05;
            ASSERT_NEAR(out[static_cast<size_t>(t * H + h)], value,
                        tolerance * (1.0 + std::abs(value)))
                << "token " << t << " of " << T << ", column " << h;
          }
        }
      }
    }
  }
}

TEST_P(CpuMoe, BatchAndThreadsKeepBits) {
  const Experts experts(8, 48, 96, 3);
  const Tokens tokens(experts, 90);
  for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
    CpuContext one(x_dtype, GetParam(), 1);
    const auto weight = make_weight(one, experts);
    std::vector<float> expected;
    for (int64_t t = 0; t < tokens.T; ++t) {
      const auto row = run_moe(one, experts, *weight, tokens, t, 1);
      expected.insert(expected.end(), row.begin(), row.end());
    }
    for (const int32_t threads : {1, 2, 3}) {
      CpuContext context(x_dtype, GetParam(), threads);
      EXPECT_EQ(run_moe(context, experts, *weight, tokens, 0, tokens.T), expected) << threads;
    }
  }
}

// Experts cut among memory nodes: odd numbers of panels, fewer panels than nodes, one token or
// many.
TEST_P(CpuMoe, PlacementKeepsBits) {
  for (const auto& [I, H] : {std::pair{48, 96}, std::pair{16, 32}, std::pair{80, 160}}) {
    const Experts experts(6, I, H, 3);
    const Tokens tokens(experts, 70);
    for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
      CpuContext one(x_dtype, GetParam(), 1);
      const auto expected = run_moe(one, experts, *make_weight(one, experts), tokens, 0, tokens.T);
      for (const int32_t threads : {2, 3, 5}) {
        CpuContext context(x_dtype, GetParam(), threads, same_node_twice(threads));
        const auto weight = make_weight(context, experts);
        EXPECT_EQ(run_moe(context, experts, *weight, tokens, 0, tokens.T), expected) << threads;
        const auto row = run_moe(context, experts, *weight, tokens, 7, 1);
        EXPECT_TRUE(std::equal(row.begin(), row.end(), expected.begin() + 7 * H)) << threads;
      }
    }
  }
}

// More tokens than one block, all to the same experts: more rows than one task takes.
TEST_P(CpuMoe, AllTokensToOneExpert) {
  const Experts experts(4, 16, 32, 2);
  const Tokens tokens(experts, 1100, true);
  CpuContext context(DType::kF32, GetParam(), 2);
  const auto weight = make_weight(context, experts);
  const auto out = run_moe(context, experts, *weight, tokens, 0, tokens.T);
  for (const int64_t t : {0, 383, 384, 1023, 1024, 1099}) {
    const auto expected = expected_row(experts, tokens, t);
    for (int64_t h = 0; h < experts.H; ++h) {
      const double value = expected[static_cast<size_t>(h)];
      ASSERT_NEAR(out[static_cast<size_t>(t * experts.H + h)], value,
                  1e-5 * (1.0 + std::abs(value)));
    }
  }
}

TEST(CpuMoeErrors, RefusesExpertsThatDiffer) {
  Experts experts(3, 16, 32, 2);
  CpuContext context(DType::kF32, CpuIsa::kPortable, 1);
  experts.views[1][2].shape = {8, 32};
  EXPECT_FALSE(make_cpu_experts(context, experts.views[0], experts.views[1], experts.views[2]));
  experts.views[1].pop_back();
  EXPECT_FALSE(make_cpu_experts(context, experts.views[0], experts.views[1], experts.views[2]));
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuMoe, testing::ValuesIn(machine_isas()),
                         [](const auto& isa) { return std::string(cpu_isa_name(isa.param)); });

}  // namespace
}  // namespace deltaserve
