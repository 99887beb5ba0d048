// embed: one block a token, 16 bytes a thread.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kVector = 8;  // H is a multiple of it: checked when the table was made

template <typename X>
__global__ void __launch_bounds__(kThreads)
    embed_rows(float* out, const X* table, const int32_t* ids, int64_t H) {
  const int64_t t = blockIdx.x;
  wait_for_previous();  // take_drawn may write the ids
  const X* from = table + ids[t] * H;
  for (int64_t i = int64_t{threadIdx.x} * kVector; i < H; i += kThreads * kVector) {
    float values[kVector];
    load(from + i, values);
    store(out + t * H + i, values);
  }
}

}  // namespace
}  // namespace cuda

void launch_embed(CudaContext& context, const EmbedArgs& args) {
  const auto& table = static_cast<const CudaEmbedding&>(*args.table);
  cuda::with_x(context.compute_dtype, [&]<typename X>(X*) {
    cuda::launch_early(context, cuda::embed_rows<X>,
                       {.grid = dim3(static_cast<unsigned>(args.T)), .block = dim3(cuda::kThreads)},
                       args.out, static_cast<const X*>(table.values.data()), args.ids, table.H);
  });
}

}  // namespace deltaserve
