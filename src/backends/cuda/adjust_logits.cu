// Logits after grammar mask, bias, bans and penalties, in the order of ops/sampling.h, for those
// rows of a batch that have any of them. Compiled without floating-point contraction.
#include <cmath>

#include "backends/cuda/launch.h"
#include "backends/cuda/sample_kernels.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 32;  // of a row: enough loads in flight for one row alone

__global__ void __launch_bounds__(kThreads) mask_logits(const CudaSamplingRow* rows, int64_t V) {
  const CudaSamplingRow& row = rows[blockIdx.y];
  if (row.adjusted == nullptr) {
    return;
  }
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < V; i += kBlocks * kThreads) {
    const bool allowed = row.allowed == nullptr || (row.allowed[i / 64] >> (i % 64) & 1) != 0;
    row.adjusted[i] = allowed ? row.logits[i] : -INFINITY;
  }
}

// Applies a list of entries in its order: piece by piece, and within a piece the thread of a
// token's first entry applies all of that token. `apply(logit, entry)` returns the new logit.
template <typename Entry, typename Apply>
__device__ void apply_listed(float* logits, int64_t V, const Entry* entries, int32_t count,
                             int32_t* tokens, Apply apply) {
  for (int32_t base = 0; base < count; base += kThreads) {
    const auto own = static_cast<int32_t>(threadIdx.x);
    const int32_t piece = min(kThreads, count - base);
    tokens[own] = own < piece ? entries[base + own].token : -1;
    __syncthreads();
    const int32_t token = tokens[own];
    bool first = token >= 0 && token < V;  // others are padding rows of the head: never drawn
    for (int32_t j = 0; j < own && first; ++j) {
      first = tokens[j] != token;
    }
    for (int32_t j = own; j < piece && first; ++j) {
      if (tokens[j] == token) {
        logits[token] = apply(logits[token], entries[base + j]);
      }
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kThreads) adjust_listed(const CudaSamplingRow* rows, int64_t V) {
  __shared__ int32_t tokens[kThreads];
  const CudaSamplingRow& row = rows[blockIdx.x];
  if (row.adjusted == nullptr) {
    return;
  }
  apply_listed(row.adjusted, V, row.logit_bias, row.num_logit_bias, tokens,
               [](float logit, const LogitBias& entry) { return logit + entry.bias; });
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < row.num_banned; i += kThreads) {
    if (row.banned[i] >= 0 && row.banned[i] < V) {
      row.adjusted[row.banned[i]] = -INFINITY;
    }
  }
  __syncthreads();
  apply_listed(row.adjusted, V, row.counts, row.num_counts, tokens,
               [&row](float logit, const TokenCount& count) {
                 logit =
                     logit > 0.0F ? logit / row.repetition_penalty : logit * row.repetition_penalty;
                 logit -= row.frequency_penalty * static_cast<float>(count.in_output);
                 return logit - (count.in_output > 0 ? row.presence_penalty : 0.0F);
               });
}

}  // namespace
}  // namespace cuda

void launch_adjust_logits(const CudaContext& context, const CudaSamplingRow* rows, int64_t B,
                          int64_t V) {
  const auto num_rows = static_cast<unsigned>(B);
  cuda::launch(context, cuda::mask_logits,
               {.grid = dim3(cuda::kBlocks, num_rows), .block = dim3(cuda::kThreads)}, rows, V);
  cuda::launch(context, cuda::adjust_listed,
               {.grid = dim3(num_rows), .block = dim3(cuda::kThreads)}, rows, V);
}

}  // namespace deltaserve
