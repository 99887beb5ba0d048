// What a step takes of the draw before it without a way over the host: its tokens as input ids
// (take_drawn: a thread a token), and their occurrence for the penalties (a block a row).
#include "backends/cuda/launch.h"
#include "backends/cuda/sample_kernels.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 128;

__global__ void take_drawn(int64_t T, const int32_t* rows, const CudaSampledRow* drawn,
                           int32_t* ids) {
  const int64_t t = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (t >= T || rows[t] < 0) {
    return;
  }
  const int32_t token = drawn[rows[t]].token;
  ids[t] = token < 0 ? 0 : token;
}

__global__ void __launch_bounds__(kThreads)
    count_drawn(const CudaSamplingRow* rows, const CudaSampledRow* drawn) {
  const CudaSamplingRow& row = rows[blockIdx.x];
  if (row.drawn_row < 0) {
    return;
  }
  const int32_t token = drawn[row.drawn_row].token;
  const int32_t num_known = row.num_counts - 1;
  bool is_known = token < 0;
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < num_known; i += kThreads) {
    if (row.counts[i].token == token) {
      ++row.counts[i].in_output;
      is_known = true;
    }
  }
  if (__syncthreads_or(is_known ? 1 : 0) == 0 && threadIdx.x == 0) {
    row.counts[num_known] = {.token = token, .in_output = 1};
  }
}

}  // namespace
}  // namespace cuda

void launch_count_drawn(const CudaContext& context, const CudaSamplingRow* rows, int64_t B,
                        const CudaSampledRow* drawn) {
  cuda::launch(context, cuda::count_drawn,
               {.grid = dim3(static_cast<unsigned>(B)), .block = dim3(cuda::kThreads)}, rows,
               drawn);
}

void launch_take_drawn(const CudaContext& context, const TakeDrawnArgs& args,
                       const CudaSampledRow* drawn) {
  const auto blocks = static_cast<unsigned>(cuda::ceil_div<int64_t>(args.T, cuda::kThreads));
  cuda::launch(context, cuda::take_drawn, {.grid = dim3(blocks), .block = dim3(cuda::kThreads)},
               args.T, args.rows, drawn, args.ids);
}

}  // namespace deltaserve
