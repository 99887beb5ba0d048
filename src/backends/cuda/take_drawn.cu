// take_drawn: a thread a token. The tokens of a step that has been launched and not ended become the
// next one's input ids without a way over the host.
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

}  // namespace
}  // namespace cuda

void launch_take_drawn(const CudaContext& context, const TakeDrawnArgs& args,
                       const CudaSampledRow* drawn) {
  const auto blocks = static_cast<unsigned>(cuda::ceil_div<int64_t>(args.T, cuda::kThreads));
  cuda::launch(context, cuda::take_drawn,
               {.grid = dim3(blocks), .block = dim3(cuda::kThreads)}, args.T, args.rows, drawn,
               args.ids);
}

}  // namespace deltaserve
