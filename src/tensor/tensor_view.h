// A read-only look at a dense row-major tensor that somebody else owns, usually a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "tensor/dtype.h"

namespace deltaserve {

struct TensorView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;

  int64_t num_elements() const {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>{});
  }
  int64_t num_bytes() const { return num_elements() * dtype_size(dtype); }

  // Rows [begin, end) of the first dimension; shares the data.
  TensorView rows(int64_t begin, int64_t end) const {
    TensorView part = *this;
    part.shape[0] = end - begin;
    part.data = data + begin * (shape[0] == 0 ? 0 : num_bytes() / shape[0]);
    return part;
  }
};

// All elements as float32, whatever float type they are stored in (kF32, kBF16, kF16).
std::vector<float> to_float_vector(const TensorView& view);

}  // namespace deltaserve
