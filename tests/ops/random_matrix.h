// A matrix of random values in bfloat16, as a checkpoint has it.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "conformance.h"

namespace deltaserve {

// [rows, columns], of the size that keeps sums over columns of order one.
struct Matrix {
  std::vector<BFloat16> values;
  TensorView view;

  Matrix(int64_t rows, int64_t columns, uint32_t seed) {
    const float scale = 1.0F / std::sqrt(static_cast<float>(columns));
    for (const float value : random_values(static_cast<size_t>(rows * columns), seed, scale)) {
      values.push_back(to_bfloat16(value));
    }
    view = {.dtype = DType::kBF16,
            .shape = {rows, columns},
            .data = reinterpret_cast<const std::byte*>(values.data())};
  }
};

}  // namespace deltaserve
