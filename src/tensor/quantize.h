// Float matrices to integers with a scale for every group of a row: how `--quantization` and
// `deltaserve quantize` make them. The same input gives the same integers on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "tensor/tensor_view.h"

namespace deltaserve {

// Elements along K that share a scale, by the divergence from bfloat16 that they cost
// (docs/performance.md): at 4 bits groups of 64 and 128 cost 21 % and 33 % more than groups of 32,
// at 8 bits 32, 64 and 128 cost the same. Kernels are compiled for these sizes.
constexpr int32_t quantization_group(int32_t bits) {
  return bits == 4 ? 32 : 64;
}

// Rows of K floats (kF32, kBF16, kF16; all dimensions but the last count as rows) to integers and
// bfloat16 scales: 8 bits by the largest magnitude of a group, 4 bits by the scale with the least
// squared error among those that clip a little or not at all. `codes` holds rows * K * bits / 8
// bytes, `scales` rows * ceil(K / group). Errors: an odd K with 4 bits, a value that is not finite.
Result<void> quantize_rows(const TensorView& rows, int32_t bits, std::span<std::byte> codes,
                           std::span<BFloat16> scales);

// Why a matrix cannot be quantised, or nothing: it needs two or more dimensions, a float type and,
// for 4 bits, an even K.
Result<void> check_quantizable(const TensorView& view, int32_t bits);

// A quantised copy with its memory.
class QuantizedTensor {
 public:
  // Uses `threads` threads. Errors: those of quantize_rows.
  static Result<QuantizedTensor> make(const TensorView& view, int32_t bits, int32_t threads);
  QuantizedTensor(QuantizedTensor&&) = default;
  QuantizedTensor& operator=(QuantizedTensor&&) = default;
  const TensorView& view() const { return view_; }

 private:
  QuantizedTensor() = default;
  std::vector<std::byte> codes_;
  std::vector<BFloat16> scales_;
  TensorView view_;
};

}  // namespace deltaserve
