// Products whose result goes through a function before it is rounded: a slice of columns at a time
// is made as float32 in scratch, and a kernel takes it from there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cuda/cuda_context.h"
#include "backends/cuda/fixed_product.h"
#include "backends/cuda/lt_matmul.h"

namespace deltaserve::cuda {

// Bytes of a slice at most: 8,192 columns of 8,192 rows. Wide products reach 830 TFLOP/s on an
// H200; slices that would stay in the second level cache (2,048 columns) reach 780, and reading
// them from there saves less than that costs.
inline constexpr int64_t kSliceBytes = int64_t{256} << 20;
inline constexpr int64_t kSliceColumns = 256;  // slices are multiples of it, tiles are

// Columns of the slices of M rows and N columns, all but the last as wide.
constexpr int64_t slice_columns(int64_t M, int64_t N) {
  const int64_t fitting = kSliceBytes / (M * int64_t{sizeof(float)});
  const int64_t most = std::max(kSliceColumns, fitting / kSliceColumns * kSliceColumns);
  const int64_t count = (N + most - 1) / most;
  const int64_t even = (N + count - 1) / count;
  return (even + kSliceColumns - 1) / kSliceColumns * kSliceColumns;
}

// Bytes of the scratch for slices of up to so many rows.
constexpr int64_t slice_bytes(int64_t rows) {
  return std::max(kSliceBytes, rows * kSliceColumns * int64_t{sizeof(float)});
}

// x [M, K] times weight [N, K]; then(first column, columns, slice [M, columns] float32) takes each
// slice. `product` gives x, its stride, the weight, M, N and K.
template <typename Then>
void sliced_product(CudaContext& context, MatmulArgs product, Then then) {
  const int64_t columns = std::min(slice_columns(product.M, product.N), product.N);
  const int64_t most_rows = std::max(context.limits.max_tokens, product.M);
  auto* slice = context.scratch<float>(static_cast<size_t>(slice_bytes(most_rows)));
  const auto* weight = static_cast<const std::byte*>(product.weight);
  const int64_t N = product.N;
  product.out = slice;
  product.out_float = true;
  for (int64_t first = 0; first < N; first += columns) {
    product.N = std::min(columns, N - first);
    product.out_stride = product.N;
    product.weight = weight + first * product.K * dtype_size(context.compute_dtype);
    launch_matmul(context, product);
    then(first, product.N, slice);
  }
}

}  // namespace deltaserve::cuda
