// The draw: one team of blocks a row, the row's logits in the second level cache. A pass finds the
// largest logit. A small top_k leaves a list that one block draws from (sample_few.cuh), else all
// of the row is searched (sample_all.cuh). Compiled without floating-point contraction: see
// ops/sampling_math.h.
#include "backends/cuda/sample_kernels.h"

#include "backends/cuda/launch.h"
#include "backends/cuda/sample_all.cuh"
#include "backends/cuda/sample_few.cuh"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kTeam = 8;               // the largest portable cluster
constexpr int kFirstClusterArch = 90;  // compute capability 9.0

// `own` is the largest value of this thread's.
template <typename Team>
__device__ int draw(SelectShared& shared, const CudaSamplingRow& row, const float* values,
                    int begin, int end, int V, float largest, float own) {
  if (row.top_k > 0 && row.top_k <= kMostOfFew<Team>) {
    const int count = gather_largest<Team>(shared, values, begin, end, row.top_k, own);
    if (count >= 0) {
      return draw_from_few<Team>(shared, row, count, largest);
    }
  }
  return draw_from_all<Team>(shared, row, values, begin, end, V, largest);
}

// The row's num_logprobs most likely tokens. `own` is the largest logit of this thread's, `best`
// the row's.
template <typename Team>
__device__ void write_top(SelectShared& shared, const CudaSamplingRow& row, int begin, int end,
                          float own, Best best, double log_sum) {
  const auto entry = [log_sum](const Best& of) {
    return TopLogprob{.token = of.index, .logprob = static_cast<float>(of.value - log_sum)};
  };
  if (row.num_logprobs > 0 && row.num_logprobs <= kMostOfFew<Team>) {
    const int count = gather_largest<Team>(shared, row.logits, begin, end, row.num_logprobs, own);
    if (count >= row.num_logprobs) {
      const auto i = static_cast<int>(threadIdx.x);
      if (Team::rank() == 0 && i < count) {
        const int rank = rank_of(shared.few.all, count, i);
        if (rank < row.num_logprobs) {
          row.top[rank] = entry(shared.few.all.at(i));
        }
      }
      return;
    }
  }
  for (int n = 0; n < row.num_logprobs; ++n) {
    if (Team::rank() == 0 && threadIdx.x == 0) {
      row.top[n] = entry(best);
    }
    if (n + 1 < row.num_logprobs) {
      Best next;
      for_each_value(row.logits, begin, end, [&](float value, int index) {
        const Best candidate{.value = value, .index = index};
        next = is_better(best, candidate) && is_better(candidate, next) ? candidate : next;
      });
      best = team_best<Team>(shared, next);
    }
  }
}

// The same places of a row that draws nothing: all of the results goes to the host.
__device__ void write_no_top(const CudaSamplingRow& row) {
  for (auto n = static_cast<int>(threadIdx.x); n < row.num_logprobs; n += kSampleThreads) {
    row.top[n] = {.token = -1, .logprob = 0.0F};
  }
}

// The most likely tokens and the logarithm of the sum, of the unmodified logits.
template <typename Team>
__device__ void add_logprobs(SelectShared& shared, const CudaSamplingRow& row, int begin, int end,
                             int token, CudaSampledRow& out) {
  const float* logits = row.logits;
  Best best;
  for_each_value(logits, begin, end, [&](float value, int index) {
    const Best candidate{.value = value, .index = index};
    best = is_better(candidate, best) ? candidate : best;
  });
  const float own = best.value;
  best = team_best<Team>(shared, best);
  const double largest = best.value;
  double sum = 0.0;
  for_each_value(logits, begin, end, [&](float value, int) { sum += exp(value - largest); });
  __shared__ double partial[kWarp];
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(kAllLanes, sum, offset);
  }
  if (threadIdx.x % kWarp == 0) {
    partial[threadIdx.x / kWarp] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    sum = 0.0;
    for (int w = 0; w < kSampleThreads / kWarp; ++w) {
      sum += partial[w];
    }
    shared.real_sum = sum;
  }
  Team::sync();
  sum = 0.0;
  for (int r = 0; r < Team::kSize; ++r) {
    sum += *Team::of(&shared.real_sum, r);
  }
  const double log_sum = largest + log(sum);
  write_top<Team>(shared, row, begin, end, own, best, log_sum);
  if (Team::rank() == 0 && threadIdx.x == 0) {
    out.logprob = static_cast<float>(logits[token] - log_sum);
  }
}

template <int TeamSize>
__global__ void __launch_bounds__(kSampleThreads, 1)
    sample_rows(const CudaSamplingRow* rows, CudaSampledRow* out, int V) {
  using Team = BlockTeam<TeamSize>;
  __shared__ SelectShared shared;
  const CudaSamplingRow row = rows[blockIdx.x / TeamSize];
  CudaSampledRow& result = out[blockIdx.x / TeamSize];
  const int part = (V + TeamSize - 1) / TeamSize;
  const int begin = Team::rank() * part < V ? Team::rank() * part : V;
  const int end = begin + part < V ? begin + part : V;
  const float* values = row.adjusted != nullptr ? row.adjusted : row.logits;

  Best best;
  bool broken = false;
  for_each_value(values, begin, end, [&](float value, int index) {
    broken = broken || isnan(value) || value == INFINITY;
    const Best candidate{.value = value, .index = index};
    best = is_better(candidate, best) ? candidate : best;
  });
  if (row.adjusted != nullptr) {
    for_each_value(row.logits, begin, end,
                   [&](float value, int) { broken = broken || isnan(value) || value == INFINITY; });
  }
  const float own = best.value;
  best = team_best<Team>(shared, best);
  broken = team_any<Team>(shared, broken) || best.value == -INFINITY;
  int token = -1;
  if (!broken) {
    token = row.temperature == 0.0F
                ? best.index
                : draw<Team>(shared, row, values, begin, end, V, best.value, own);
  }
  if (Team::rank() == 0 && threadIdx.x == 0) {
    result = {.token = token, .finite = broken ? 0 : 1, .logprob = 0.0F};
  }
  if (token >= 0 && row.num_logprobs >= 0) {
    add_logprobs<Team>(shared, row, begin, end, token, result);
  } else if (Team::rank() == 0) {
    write_no_top(row);
  }
  Team::sync();  // nobody leaves while others may read its shared memory
}

template <int TeamSize>
void launch_team(const CudaContext& context, const CudaSamplingRow* rows, CudaSampledRow* out,
                 int64_t B, int64_t V) {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = TeamSize;
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(B) * TeamSize);
  config.blockDim = dim3(kSampleThreads);
  config.stream = context.stream;
  config.attrs = &cluster;
  config.numAttrs = TeamSize > 1 ? 1 : 0;
  check_cuda(cudaLaunchKernelEx(&config, sample_rows<TeamSize>, rows, out, static_cast<int>(V)));
}

}  // namespace
}  // namespace cuda

void launch_sample_rows(const CudaContext& context, const CudaSamplingRow* rows,
                        CudaSampledRow* out, int64_t B, int64_t V) {
  if (context.device.arch >= cuda::kFirstClusterArch) {
    cuda::launch_team<cuda::kTeam>(context, rows, out, B, V);
  } else {
    launch_sample_rows_by_blocks(context, rows, out, B, V);
  }
}

void launch_sample_rows_by_blocks(const CudaContext& context, const CudaSamplingRow* rows,
                                  CudaSampledRow* out, int64_t B, int64_t V) {
  cuda::launch_team<1>(context, rows, out, B, V);
}

}  // namespace deltaserve
