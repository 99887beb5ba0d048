// Rows sampled by a backend and by the reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend_pair.h"

namespace deltaserve {

inline std::vector<SampledToken> sample(Backend& backend, const std::vector<float>& logits,
                                        int64_t V, const std::vector<SamplingRow>& rows,
                                        std::optional<int64_t> stride = {}) {
  DeviceTensor device_logits(backend, DType::kF32, logits);
  std::vector<SampledToken> out(rows.size());
  backend.sample({.B = static_cast<int64_t>(rows.size()),
                  .V = V,
                  .logits = device_logits.floats(),
                  .logits_stride = stride.value_or(V),
                  .rows = rows.data(),
                  .out = out.data()});
  return out;
}

class SampleCase : public BackendPair {
 protected:
  // Both backends give the same tokens; returns them.
  std::vector<SampledToken> sample_both(const std::vector<float>& logits, int64_t V,
                                        const std::vector<SamplingRow>& rows,
                                        std::optional<int64_t> stride = {}) {
    const auto actual = sample(*backend_, logits, V, rows, stride);
    const auto expected = sample(*reference_, logits, V, rows, stride);
    for (size_t b = 0; b < rows.size(); ++b) {
      EXPECT_EQ(actual[b].token, expected[b].token) << "row " << b;
      EXPECT_EQ(actual[b].finite, expected[b].finite) << "row " << b;
      EXPECT_NEAR(actual[b].logprob, expected[b].logprob, 2e-6) << "row " << b;
      EXPECT_EQ(actual[b].top.size(), expected[b].top.size()) << "row " << b;
      for (size_t i = 0; i < std::min(actual[b].top.size(), expected[b].top.size()); ++i) {
        EXPECT_EQ(actual[b].top[i].token, expected[b].top[i].token);
        EXPECT_NEAR(actual[b].top[i].logprob, expected[b].top[i].logprob, 2e-6);
      }
    }
    return expected;
  }
};

}  // namespace deltaserve
