// The experts' products as plain dot products, a warp a result, float32 inside. For float32 compute
// and for sizes that the tensor core forms do not serve.
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_kernels.h"

namespace deltaserve::cuda {
namespace {

constexpr int kWarps = 8;

template <typename X>
__device__ float dot(const X* a, const X* b, int64_t count) {
  float sum = 0.0F;
  for (int64_t i = threadIdx.x % kWarp; i < count; i += kWarp) {
    sum += to_float(a[i]) * to_float(b[i]);
  }
  return warp_sum(sum);
}

// act[entry][i] = silu(gate_e[i] x) * (up_e[i] x); weights in groups of kGateUpGroup rows.
template <typename X>
__global__ void __launch_bounds__(kWarps* kWarp)
    gate_up_kernel(MoeArgs args, const X* gate_up, int64_t padded_rows, int64_t I, int64_t H,
                   X* act) {
  const int64_t entry = blockIdx.x;
  const int64_t i = int64_t{blockIdx.y} * kWarps + threadIdx.x / kWarp;
  if (i >= I) {
    return;
  }
  const int64_t gate_row = i / kGateUpGroup * 2 * kGateUpGroup + i % kGateUpGroup;
  const X* gate = gate_up + (args.expert_ids[entry] * padded_rows + gate_row) * H;
  const X* x = static_cast<const X*>(args.x) + entry / args.K * args.x_stride;
  const float g = dot(gate, x, H);
  const float u = dot(gate + kGateUpGroup * H, x, H);
  if (threadIdx.x % kWarp == 0) {
    act[entry * I + i] = from_float<X>(silu(g) * u);
  }
}

// down[entry][h] = down_e[h] act[entry]
template <typename X>
__global__ void __launch_bounds__(kWarps* kWarp)
    down_kernel(MoeArgs args, const X* weight, int64_t I, int64_t H, const X* act, float* down) {
  const int64_t entry = blockIdx.x;
  const int64_t h = int64_t{blockIdx.y} * kWarps + threadIdx.x / kWarp;
  if (h >= H) {
    return;
  }
  const float sum = dot(weight + (args.expert_ids[entry] * H + h) * I, act + entry * I, I);
  if (threadIdx.x % kWarp == 0) {
    down[entry * H + h] = sum;
  }
}

}  // namespace

void launch_moe_plain(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const auto grid = [&](int64_t rows) {
    return LaunchShape{.grid = dim3(static_cast<unsigned>(args.T * args.K),
                                    static_cast<unsigned>(ceil_div<int64_t>(rows, kWarps))),
                       .block = dim3(kWarps * kWarp)};
  };
  const int64_t padded_rows = ceil_div<int64_t>(experts.I, kGateUpGroup) * 2 * kGateUpGroup;
  with_x(context.compute_dtype, [&]<typename X>(X*) {
    launch(context, gate_up_kernel<X>, grid(experts.I), args,
           static_cast<const X*>(experts.gate_up.data()), padded_rows, experts.I, experts.H,
           static_cast<X*>(buffers.act));
    launch(context, down_kernel<X>, grid(experts.H), args,
           static_cast<const X*>(experts.down.data()), experts.I, experts.H,
           static_cast<const X*>(buffers.act), buffers.down);
  });
}

}  // namespace deltaserve::cuda
