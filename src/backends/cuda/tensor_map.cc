#include "backends/cuda/tensor_map.h"

#include <algorithm>
#include <cstddef>

#include "backends/cuda/cuda_context.h"

namespace deltaserve {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

// The driver's function: the backend is not linked against the driver's library.
Encode find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                              cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) {
    throw CudaError("the driver has no tensor maps");
  }
  return reinterpret_cast<Encode>(function);
}

constexpr uint64_t kElementBytes = 2;

// `Rank` sizes and a box of elements, the strides of all dimensions but the first in bytes.
template <size_t Rank>
CUtensorMap encode_map(const void* data, const cuuint64_t (&sizes)[Rank],
                       const cuuint64_t (&strides)[Rank - 1], const cuuint32_t (&box)[Rank],
                       CUtensorMapSwizzle swizzle) {
  static const Encode encode = find_encode();
  cuuint32_t steps[Rank];
  std::ranges::fill(steps, 1U);
  CUtensorMap map{};
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, Rank, const_cast<void*>(data), sizes, strides,
             box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw CudaError("no tensor map of a matrix");
  }
  return map;
}

}  // namespace

CUtensorMap make_tensor_map(const void* data, int64_t rows, int64_t columns, int64_t stride,
                            uint32_t box_rows) {
  return encode_map<2>(data, {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)},
                       {static_cast<cuuint64_t>(stride) * kElementBytes}, {64, box_rows},
                       CU_TENSOR_MAP_SWIZZLE_128B);
}

CUtensorMap make_heads_map(const HeadRows& heads, uint32_t box_columns, uint32_t box_rows) {
  const auto head_dim = static_cast<cuuint64_t>(heads.head_dim);
  return encode_map<3>(
      heads.data,
      {head_dim, static_cast<cuuint64_t>(heads.num_heads), static_cast<cuuint64_t>(heads.rows)},
      {head_dim * kElementBytes, static_cast<cuuint64_t>(heads.stride) * kElementBytes},
      {box_columns, 1, box_rows},
      box_columns == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_32B);
}

}  // namespace deltaserve
