// Where finished tiles of a product go: rows of float32 or bfloat16.
#pragma once

#include <cstdint>

#include "backends/cpu/isa/kernel_table.h"
#include "tensor/dtype.h"

namespace deltaserve {

struct TileStore {
  const CpuKernels& kernels;
  DType dtype;  // kF32 or kBF16
  void* out;
  int64_t stride;  // elements from row to row

  // c[rows][32] to the rows from `row` on, `columns` (<= 32) columns from `column` on.
  void store(const float* c, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    const int64_t offset = row * stride + column;
    if (dtype == DType::kF32) {
      kernels.store_f32(c, rows, columns, static_cast<float*>(out) + offset, stride);
    } else {
      kernels.store_bf16(c, rows, columns, static_cast<uint16_t*>(out) + offset, stride);
    }
  }
};

}  // namespace deltaserve
