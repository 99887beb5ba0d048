// Small functions that several reference ops share; see reference_ops.h.
#include <cmath>
#include <vector>

#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {

float sigmoid(float x) {
  return 1.0F / (1.0F + std::exp(-x));
}

float silu(float x) {
  return x * sigmoid(x);
}

float inverse_rms(const float* x, int64_t n, float eps) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    sum += static_cast<double>(x[i]) * x[i];
  }
  return static_cast<float>(1.0 / std::sqrt(sum / static_cast<double>(n) + eps));
}

std::vector<float> load_row(DType x_dtype, const void* data, int64_t first, int64_t count) {
  std::vector<float> row(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    row[static_cast<size_t>(i)] = load(x_dtype, data, first + i);
  }
  return row;
}

void vector_times_matrix(const float* x, const float* weight, int64_t K, int64_t N, float* out) {
  std::vector<double> sums(static_cast<size_t>(N), 0.0);
  for (int64_t k = 0; k < K; ++k) {
    const double factor = x[k];
    const float* row = weight + k * N;
    for (int64_t n = 0; n < N; ++n) {
      sums[static_cast<size_t>(n)] += factor * row[n];
    }
  }
  for (int64_t n = 0; n < N; ++n) {
    out[n] = static_cast<float>(sums[static_cast<size_t>(n)]);
  }
}

}  // namespace deltaserve::reference
