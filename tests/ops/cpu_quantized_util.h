// What tests of quantised products share: matrices with their integers, activations as kernels
// round them, and sums in double with what a float32 result may be off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/matrix_ops.h"
#include "cpu_test_util.h"
#include "tensor/quantize.h"

namespace deltaserve {

// A matrix of normal-looking values and its quantised form.
struct QuantizedMatrix {
  std::vector<float> source;
  OwnedTensor floats;
  QuantizedTensor tensor;
  std::vector<float> values;  // integer times scale

  QuantizedMatrix(int64_t N, int64_t K, int32_t bits, uint32_t seed)
      : source(uniform_values(static_cast<size_t>(N * K), seed, 0.37F)),
        floats(DType::kF32, {N, K}, source),
        tensor(QuantizedTensor::make(floats.view, bits, 2).value()),
        values(to_float_vector(tensor.view())) {}
};

inline std::vector<std::byte> run_linear(CpuContext& context, const LinearWeight& weight, int64_t M,
                                         const std::byte* x) {
  std::vector<std::byte> out(static_cast<size_t>(M * weight.N) * sizeof(float));
  cpu_linear(context, {.M = M,
                       .x = x,
                       .x_stride = weight.K,
                       .weight = &weight,
                       .out = out.data(),
                       .out_stride = weight.N,
                       .out_float = true});
  return out;
}

// How many integers of one sign activations are rounded to, and of how many one has the scale.
inline float levels_of(int32_t bits) {
  return bits == 8 ? 8191.0F : 127.0F;
}

// Rows of K activations as the kernels round them: to the nearest integer in units of their group's
// largest magnitude / levels.
inline std::vector<float> rounded_rows(const std::vector<float>& x, int64_t K, int32_t bits) {
  const float levels = levels_of(bits);
  const int64_t group = bits == 8 ? 64 : 128;
  std::vector<float> rounded(x.size());
  for (size_t row = 0; row < x.size(); row += static_cast<size_t>(K)) {
    for (int64_t k = 0; k < K; k += group) {
      const auto first = static_cast<std::ptrdiff_t>(row) + k;
      const auto end = first + std::min(group, K - k);
      float largest = 0.0F;
      for (auto i = first; i < end; ++i) {
        largest = std::max(largest, std::abs(x[static_cast<size_t>(i)]));
      }
      const float inverse = largest == 0.0F ? 0.0F : levels / largest;
      std::transform(x.begin() + first, x.begin() + end, rounded.begin() + first, [&](float value) {
        return std::nearbyint(value * inverse) * (largest / levels);
      });
    }
  }
  return rounded;
}

// The sum in double, and how far a result may be from it: a group's sum is rounded to float32 and
// added by one or two multiply-adds. With `levels`, x was not yet rounded to so many integers.
struct Expected {
  double value = 0.0;
  double tolerance = 0.0;
};

inline Expected exact_dot(const float* x, const float* w, int64_t K, float levels = 0.0F) {
  double sum = 0.0;
  double magnitude = 0.0;
  double largest = 0.0;
  for (int64_t k = 0; k < K; ++k) {
    sum += static_cast<double>(x[k]) * w[k];
    magnitude += std::abs(static_cast<double>(w[k]));
    largest = std::max(largest, std::abs(static_cast<double>(x[k])));
  }
  const double half_unit = levels == 0.0F ? 0.0 : 0.5 / static_cast<double>(levels);
  const double float_steps = static_cast<double>(K) / 8 + 4;
  return {sum, magnitude * largest * (half_unit + float_steps * 0x1p-24)};
}

}  // namespace deltaserve
