// Products of many rows by cuBLASLt. The algorithm of a shape is asked for once, for a bucket of
// row counts, and kept: a row has the same bits whatever number of rows of its bucket comes along.
#pragma once

#include <cublasLt.h>

#include <compare>
#include <cstdint>
#include <map>

#include "backends/cuda/cuda_context.h"

namespace deltaserve {

// out [M, N] = x [M, K] Wᵀ with W [N, K] contiguous; x and W are X, out is X or float32.
struct MatmulArgs {
  int64_t M = 0;
  int64_t N = 0;
  int64_t K = 0;
  const void* x = nullptr;
  int64_t x_stride = 0;
  const void* weight = nullptr;
  void* out = nullptr;
  int64_t out_stride = 0;
  bool out_float = false;
  bool add = false;  // the product to out
};

class LtMatmul {
 public:
  LtMatmul(DType compute_dtype, cudaStream_t stream);
  LtMatmul(const LtMatmul&) = delete;
  LtMatmul& operator=(const LtMatmul&) = delete;
  ~LtMatmul();

  // Throws CudaError if cuBLASLt fails or has no algorithm.
  void run(const MatmulArgs& args);

 private:
  struct Key {
    int64_t bucket;  // of M: the largest row count that shares the algorithm
    int64_t N;
    int64_t K;
    int64_t x_stride;
    int64_t out_stride;
    uint32_t alignment;  // of the three pointers
    bool out_float;
    auto operator<=>(const Key&) const = default;
  };
  struct Problem;

  const cublasLtMatmulAlgo_t& algorithm(const MatmulArgs& args);
  // Whether an algorithm serves these shapes with M rows.
  bool serves(const MatmulArgs& args, int64_t M, const cublasLtMatmulAlgo_t& algo);

  DType x_;
  cudaStream_t stream_;
  cublasLtHandle_t handle_ = nullptr;
  CudaMemory workspace_;
  std::map<Key, cublasLtMatmulAlgo_t> algorithms_;
};

}  // namespace deltaserve
