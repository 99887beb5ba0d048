// cuBLASLt is column-major: W [N, K] is its A, K x N and transposed; x its B; out its D, N x M.
#include "backends/cuda/lt_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <source_location>

namespace deltaserve {
namespace {

// What cuBLASLt asks for on Hopper; split sums take a part of it.
constexpr size_t kWorkspaceBytes = size_t{32} << 20;

// Algorithms to look at, best first: one must serve all row counts of a bucket.
constexpr int kCandidates = 16;

void check_lt(cublasStatus_t status, std::source_location where = std::source_location::current()) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw CudaError(fmt::format("{}:{}: cuBLASLt: {}", where.file_name(), where.line(),
                                cublasLtGetStatusString(status)));
  }
}

cudaDataType_t data_type(DType dtype) {
  return dtype == DType::kBF16 ? CUDA_R_16BF : CUDA_R_32F;
}

// Powers of two from 16 on. In float32, which is there for comparison, every M has its own: some of
// those algorithms take one row or a multiple of four only.
int64_t bucket_of(DType x, int64_t M) {
  if (x == DType::kF32) {
    return M;
  }
  return std::max<int64_t>(16, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(M))));
}

// The largest power of two up to 256 that divides all three addresses.
uint32_t alignment_of(const MatmulArgs& args) {
  const auto bits = reinterpret_cast<uintptr_t>(args.x) | reinterpret_cast<uintptr_t>(args.weight) |
                    reinterpret_cast<uintptr_t>(args.out) | uintptr_t{256};
  return uint32_t{1} << std::countr_zero(bits);
}

}  // namespace

struct LtMatmul::Problem {
  cublasLtMatmulDescOpaque_t operation{};
  cublasLtMatrixLayoutOpaque_t weight{};
  cublasLtMatrixLayoutOpaque_t x{};
  cublasLtMatrixLayoutOpaque_t out{};

  Problem(DType compute_dtype, const MatmulArgs& args, int64_t M) {
    const cudaDataType_t in = data_type(compute_dtype);
    const auto N = static_cast<uint64_t>(args.N);
    const auto K = static_cast<uint64_t>(args.K);
    const auto rows = static_cast<uint64_t>(M);
    check_lt(cublasLtMatmulDescInit(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t transposed = CUBLAS_OP_T;
    check_lt(cublasLtMatmulDescSetAttribute(&operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                            sizeof(transposed)));
    check_lt(cublasLtMatrixLayoutInit(&weight, in, K, N, args.K));
    check_lt(cublasLtMatrixLayoutInit(&x, in, K, rows, args.x_stride));
    check_lt(
        cublasLtMatrixLayoutInit(&out, args.out_float ? CUDA_R_32F : in, N, rows, args.out_stride));
  }
};

LtMatmul::LtMatmul(DType compute_dtype, cudaStream_t stream)
    : x_(compute_dtype), stream_(stream), workspace_(kWorkspaceBytes) {
  check_lt(cublasLtCreate(&handle_));
}

LtMatmul::~LtMatmul() {
  cublasLtDestroy(handle_);
}

const cublasLtMatmulAlgo_t& LtMatmul::algorithm(const MatmulArgs& args) {
  const Key key = {.bucket = bucket_of(x_, args.M),
                   .N = args.N,
                   .K = args.K,
                   .x_stride = args.x_stride,
                   .out_stride = args.out_stride,
                   .alignment = alignment_of(args),
                   .out_float = args.out_float};
  const auto found = algorithms_.find(key);
  if (found != algorithms_.end()) {
    return found->second;
  }
  Problem problem(x_, args, key.bucket);
  cublasLtMatmulPreferenceOpaque_t preference{};
  check_lt(cublasLtMatmulPreferenceInit(&preference));
  check_lt(cublasLtMatmulPreferenceSetAttribute(&preference,
                                                CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                &kWorkspaceBytes, sizeof(kWorkspaceBytes)));
  for (const cublasLtMatmulPreferenceAttributes_t attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    check_lt(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &key.alignment,
                                                  sizeof(key.alignment)));
  }
  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> candidates{};
  int count = 0;
  check_lt(cublasLtMatmulAlgoGetHeuristic(handle_, &problem.operation, &problem.weight, &problem.x,
                                          &problem.out, &problem.out, &preference, kCandidates,
                                          candidates.data(), &count));
  for (int i = 0; i < count; ++i) {
    const cublasLtMatmulAlgo_t& algo = candidates[static_cast<size_t>(i)].algo;
    if (serves(args, 1 + key.bucket / 2, algo) && serves(args, args.M, algo)) {
      return algorithms_.emplace(key, algo).first->second;
    }
  }
  throw CudaError(
      fmt::format("cuBLASLt has no algorithm for {} x {} x {}", args.M, args.N, args.K));
}

bool LtMatmul::serves(const MatmulArgs& args, int64_t M, const cublasLtMatmulAlgo_t& algo) {
  Problem problem(x_, args, M);
  cublasLtMatmulHeuristicResult_t result{};
  return cublasLtMatmulAlgoCheck(handle_, &problem.operation, &problem.weight, &problem.x,
                                 &problem.out, &problem.out, &algo,
                                 &result) == CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= workspace_.bytes();
}

void LtMatmul::run(const MatmulArgs& args) {
  const cublasLtMatmulAlgo_t& algo = algorithm(args);
  Problem problem(x_, args, args.M);
  const float one = 1.0F;
  const float kept = args.add ? 1.0F : 0.0F;  // of out
  check_lt(cublasLtMatmul(handle_, &problem.operation, &one, args.weight, &problem.weight, args.x,
                          &problem.x, &kept, args.out, &problem.out, args.out, &problem.out, &algo,
                          workspace_.data(), workspace_.bytes(), stream_));
}

}  // namespace deltaserve
