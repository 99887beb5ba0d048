// The draw: one team of blocks a row, the row's logits in the second level cache. A pass finds the
// largest logit. A small top_k leaves a list that one block draws from (sample_few.cuh); else radix
// searches find where top_k and top_p cut, and the last pass walks the kept weights in ascending
// id. Compiled without floating-point contraction: see ops/sampling_math.h.
#include "backends/cuda/sample_kernels.h"

#include "backends/cuda/launch.h"
#include "backends/cuda/sample_few.cuh"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kTeam = 8;               // the largest portable cluster
constexpr int kFirstClusterArch = 90;  // compute capability 9.0

// What is left of a token's weight after min_p, top_k and top_p.
struct Kept {
  float largest = 0.0F;
  float temperature = 1.0F;
  float least_weight = 0.0F;  // of min_p
  unsigned logit_key = 0;
  int logit_tie_end = INT_MAX;
  unsigned weight_key = 0;
  int weight_tie_end = INT_MAX;

  __device__ float weight(float logit, int index) const {
    const unsigned logit_order = order_key(logit);
    if (logit_order < logit_key || (logit_order == logit_key && index >= logit_tie_end)) {
      return 0.0F;
    }
    const float w = device_sampling_weight(__fdiv_rn(__fsub_rn(logit, largest), temperature));
    if (!(w >= least_weight)) {
      return 0.0F;
    }
    const unsigned order = __float_as_uint(w);
    return order < weight_key || (order == weight_key && index >= weight_tie_end) ? 0.0F : w;
  }
};

__device__ __forceinline__ Mass ties_left(Mass taken, const Threshold& found) {
  const Mass left = taken > found.before ? taken - found.before : 0;
  return left < found.own_equal ? left : found.own_equal;
}

template <typename Team>
__device__ void keep_top_k(SelectShared& shared, const float* values, int begin, int end,
                           int32_t top_k, Kept& kept) {
  const auto k = static_cast<Mass>(top_k);
  const Threshold found = find_threshold<Team, false>(
      shared, values, begin, end,
      [](float value, int, unsigned& key, Mass& amount) {
        key = order_key(value);
        amount = 1;
        return true;
      },
      [k](Mass above, Mass amount) { return above < k && above + amount >= k; });
  kept.logit_tie_end =
      end_of_ties(shared, values, begin, end, found.own_equal, ties_left(k - found.above, found),
                  [&found](float value, int) { return order_key(value) == found.key; });
  kept.logit_key = found.key;
}

// How many of equal weights are kept: those before which less than `target` has been taken.
__device__ Mass equals_kept(double target, Mass above, Mass weight, Mass equals) {
  const auto before = [&](Mass n) { return static_cast<double>(above + n * weight); };
  double quotient = (target - static_cast<double>(above)) / static_cast<double>(weight);
  quotient = quotient > 0.0 ? quotient : 0.0;
  auto n = quotient < static_cast<double>(equals) ? static_cast<Mass>(quotient) : equals;
  while (n > 0 && !(before(n - 1) < target)) {
    --n;
  }
  while (n < equals && before(n) < target) {
    ++n;
  }
  return n == 0 && above == 0 ? 1 : n;  // the most likely token is always kept
}

template <typename Team>
__device__ void keep_top_p(SelectShared& shared, const float* values, int begin, int end,
                           double target, Kept& kept) {
  const Threshold found = find_threshold<Team, true>(
      shared, values, begin, end,
      [&kept](float value, int index, unsigned& key, Mass& amount) {
        const float w = kept.weight(value, index);
        key = __float_as_uint(w);
        amount = static_cast<Mass>(w);
        return w > 0.0F;
      },
      [target](Mass above, Mass amount) {
        return amount > 0 && static_cast<double>(above + amount) >= target &&
               (above == 0 || static_cast<double>(above) < target);
      });
  const auto weight = static_cast<Mass>(__uint_as_float(found.key));
  Threshold counts = found;  // of equal weights: masses become numbers
  counts.equal = found.equal / weight;
  counts.own_equal = found.own_equal / weight;
  counts.before = found.before / weight;
  const Mass taken = equals_kept(target, found.above, weight, counts.equal);
  const int tie_end = end_of_ties(shared, values, begin, end, counts.own_equal,
                                  ties_left(taken, counts), [&](float value, int index) {
                                    return __float_as_uint(kept.weight(value, index)) == found.key;
                                  });
  kept.weight_key = found.key;
  kept.weight_tie_end = tie_end;
}

// Sum of the kept weights of this block's part. Threads take consecutive pieces, so that the prefix
// over threads is the prefix over ids; `own` gets the thread's sum and `first` its piece.
template <typename Team>
__device__ Mass kept_sum(SelectShared& shared, const float* values, int begin, int end,
                         const Kept& kept) {
  Mass sum = 0;
  for_each_value(values, begin, end, [&](float value, int index) {
    sum += static_cast<Mass>(kept.weight(value, index));
  });
  Mass total = 0;
  block_prefix(sum, shared.partial, total);
  return total;
}

template <typename Team>
__device__ int draw_from_all(SelectShared& shared, const CudaSamplingRow& row, const float* values,
                             int begin, int end, int V, float largest) {
  Kept kept{.largest = largest,
            .temperature = row.temperature,
            .least_weight = __fmul_rn(row.min_p, kSamplingUnit)};
  if (row.top_k > 0 && row.top_k < V) {
    keep_top_k<Team>(shared, values, begin, end, row.top_k, kept);
  }
  if (row.top_p < 1.0F) {
    const TeamSum sum = team_sum<Team>(shared, kept_sum<Team>(shared, values, begin, end, kept));
    const double target = static_cast<double>(row.top_p) * static_cast<double>(sum.total);
    keep_top_p<Team>(shared, values, begin, end, target, kept);
  }
  const int piece = (end - begin + kSampleThreads - 1) / kSampleThreads;
  const int first = begin + static_cast<int>(threadIdx.x) * piece;
  const int last = first + piece < end ? first + piece : end;
  Mass own = 0;
  for (int i = first; i < last; ++i) {
    own += static_cast<Mass>(kept.weight(values[i], i));
  }
  Mass block_total = 0;
  const Mass thread_before = block_prefix(own, shared.partial, block_total);
  const TeamSum sum = team_sum<Team>(shared, block_total);
  const double target = static_cast<double>(row.uniform) * static_cast<double>(sum.total);
  Mass taken = sum.before + thread_before;
  Best drawn;
  if (static_cast<double>(taken) <= target && target < static_cast<double>(taken + own)) {
    for (int i = first; i < last && drawn.index == INT_MAX; ++i) {
      taken += static_cast<Mass>(kept.weight(values[i], i));
      if (static_cast<double>(taken) > target) {
        drawn = {.value = 0.0F, .index = i};
      }
    }
  }
  drawn = team_best<Team>(shared, drawn);
  return drawn.index == INT_MAX ? -1 : drawn.index;
}

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
    cuda::launch_team<1>(context, rows, out, B, V);
  }
}

}  // namespace deltaserve
