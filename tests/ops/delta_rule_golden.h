// Reads tests/data/ops/gated_delta_rule.safetensors (made by tools/oracles/ops_delta_rule.py): one
// key head and two value heads over 200 tokens, what the reference makes of it, and how far a
// result is from it.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "ops/reference/delta_rule.h"
#include "tensor/safetensors.h"
#include "tensor/tensor_view.h"

namespace deltaserve {

struct DeltaRuleGoldenCase {
  int64_t tokens = 0;
  int64_t num_v_heads = 0;
  int64_t dk = 0;
  int64_t dv = 0;
  std::vector<float> q, k;         // [tokens, dk], exact bfloat16 values
  std::vector<float> v;            // [tokens, num_v_heads, dv], exact bfloat16 values
  std::vector<float> g, beta;      // [tokens, num_v_heads]
  std::vector<float> state;        // [num_v_heads, dk, dv], the initial one
  std::vector<float> output;       // [tokens, num_v_heads, dv]
  std::vector<float> final_state;  // [num_v_heads, dk, dv]
};

inline DeltaRuleGoldenCase load_delta_rule_golden(const std::string& decay) {
  auto file = SafetensorsFile::open(std::string(DELTASERVE_TEST_DATA) +
                                    "/ops/gated_delta_rule.safetensors");
  if (!file) {
    throw std::runtime_error(file.error().message);
  }
  const auto tensor = [&](const char* name) -> const TensorView& {
    const TensorView* view = (*file)->find(decay + "." + name);
    if (view == nullptr) {
      throw std::runtime_error("no tensor " + decay + "." + name);
    }
    return *view;
  };
  const auto read = [&](const char* name) { return to_float_vector(tensor(name)); };
  const TensorView& v = tensor("v");
  return {.tokens = v.shape[0],
          .num_v_heads = v.shape[1],
          .dk = tensor("q").shape[2],
          .dv = v.shape[2],
          .q = read("q"),
          .k = read("k"),
          .v = read("v"),
          .g = read("g"),
          .beta = read("beta"),
          .state = read("initial_state"),
          .output = read("output"),
          .final_state = read("final_state")};
}

// The case's output [tokens, num_v_heads, dv] by the reference; its state becomes the last one.
inline std::vector<float> run_reference(DeltaRuleGoldenCase& golden) {
  std::vector<float> out(static_cast<size_t>(golden.tokens * golden.num_v_heads * golden.dv));
  for (int64_t h = 0; h < golden.num_v_heads; ++h) {
    reference::delta_rule({.tokens = golden.tokens,
                           .dk = golden.dk,
                           .dv = golden.dv,
                           .q = golden.q.data(),
                           .k = golden.k.data(),
                           .qk_stride = golden.dk,
                           .v = golden.v.data() + h * golden.dv,
                           .v_stride = golden.num_v_heads * golden.dv,
                           .g = golden.g.data() + h,
                           .beta = golden.beta.data() + h,
                           .gate_stride = golden.num_v_heads,
                           .state = golden.state.data() + h * golden.dk * golden.dv,
                           .out = out.data() + h * golden.dv,
                           .out_stride = golden.num_v_heads * golden.dv});
  }
  return out;
}

// sqrt(sum (a - b)²) / sqrt(sum b²)
inline double relative_rms_error(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0.0;
  double norm = 0.0;
  for (size_t i = 0; i < b.size(); ++i) {
    error += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    norm += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(error / norm);
}

}  // namespace deltaserve
