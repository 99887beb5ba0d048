// A read-only look at a dense row-major tensor that somebody else owns, usually a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "tensor/dtype.h"

namespace deltaserve {

// How the integers of a matrix [.., K] stand for floats: every group of elements along K shares a
// scale. docs/quantization.md has the layout. A backend that has no kernels for it refuses the
// view's dtype.
struct Quantization {
  int32_t bits = 0;                   // 8 or 4; 0: not quantised
  int32_t group_size = 0;             // a row's last group may be shorter
  const std::byte* scales = nullptr;  // bfloat16 [.., ceil(K / group_size)]
};

struct TensorView {
  DType dtype = DType::kF32;  // kI8 with 8 bits, kU8 with 4 (two elements a byte)
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;
  Quantization quantization = {};

  int64_t num_elements() const {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>{});
  }
  int64_t num_bytes() const {  // without the scales
    return quantization.bits == 4 ? num_elements() / 2 : num_elements() * dtype_size(dtype);
  }
  bool is_quantized() const { return quantization.bits != 0; }
  // Groups of a row, and the bytes of all scales.
  int64_t num_groups() const {
    return (shape.back() + quantization.group_size - 1) / quantization.group_size;
  }
  int64_t scale_bytes() const {
    return shape.back() == 0 ? 0 : num_elements() / shape.back() * num_groups() * 2;
  }

  // Rows [begin, end) of the first dimension; shares the data.
  TensorView rows(int64_t begin, int64_t end) const {
    TensorView part = *this;
    part.shape[0] = end - begin;
    part.data = data + begin * (shape[0] == 0 ? 0 : num_bytes() / shape[0]);
    if (is_quantized() && shape[0] != 0) {
      part.quantization.scales += begin * (scale_bytes() / shape[0]);
    }
    return part;
  }
};

// The integer of element `index` (row-major) of a quantised view.
int32_t quantized_element(const TensorView& view, int64_t index);

// All elements as float32, whatever float type they are stored in (kF32, kBF16, kF16), or as the
// products of integers and scales, which are exact.
std::vector<float> to_float_vector(const TensorView& view);

}  // namespace deltaserve
