// add_rms_norm: one block a row. A row's sum of squares is added in the same order whatever else is
// in the batch. A row of the usual width stays in registers: residual, delta and weight are all
// asked for before the first of them is needed, which is what a decode step of few rows waits for.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kVector = 4;
constexpr int kMaxVectors = 4;  // of a thread: rows of up to 8,192

struct NormRows {
  float* residual;      // [T, H]
  const float* delta;   // [T, H] or null
  const float* weight;  // [H]
  int64_t H;
  float eps;
};

__device__ __forceinline__ float row_scale(float sum, float* partial, const NormRows& rows) {
  return 1.0F / sqrtf(block_sum(sum, partial) / static_cast<float>(rows.H) + rows.eps);
}

// H is a multiple of kVector and at most Vectors * kVector * kThreads. With kBeside the next kernel
// may start at once.
template <typename X, int Vectors, bool kBeside>
__global__ void __launch_bounds__(kThreads) norm_in_registers(NormRows rows, X* out) {
  __shared__ float partial[kWarp];
  if constexpr (kBeside) {
    let_next_start();
  }
  const int64_t row = blockIdx.x * rows.H;
  float values[Vectors][kVector] = {};
  float added[Vectors][kVector] = {};
  float factors[Vectors][kVector] = {};
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const int64_t i = (int64_t{v} * kThreads + threadIdx.x) * kVector;
    if (i < rows.H) {
      load(rows.weight + i, factors[v]);
    }
  }
  wait_for_previous();
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const int64_t i = (int64_t{v} * kThreads + threadIdx.x) * kVector;
    if (i < rows.H) {
      load(rows.residual + row + i, values[v]);
      if (rows.delta != nullptr) {
        load(rows.delta + row + i, added[v]);
      }
    }
  }
  float sum = 0.0F;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      values[v][j] += added[v][j];
      sum += values[v][j] * values[v][j];
    }
  }
  const float scale = row_scale(sum, partial, rows);
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const int64_t i = (int64_t{v} * kThreads + threadIdx.x) * kVector;
    if (i < rows.H) {
      if (rows.delta != nullptr) {
        store(rows.residual + row + i, values[v]);
      }
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        values[v][j] *= scale * (1.0F + factors[v][j]);
      }
      store(out + row + i, values[v]);
    }
  }
}

// The same of many rows: a block has half of the threads, each of which stands for two of the form
// above, so that the sum has its order; more rows are on the way at a time, and the weight, which
// stays in the first-level cache, is asked for last.
template <typename X, int Vectors>
__global__ void __launch_bounds__(kThreads / 2) norm_of_many(NormRows rows, X* out) {
  constexpr int kHalf = kThreads / 2;
  constexpr int kWarps = kHalf / kWarp;
  __shared__ float partial[2 * kWarps];
  const int64_t row = blockIdx.x * rows.H;
  const int64_t first = int64_t{threadIdx.x} * kVector;
  float values[2 * Vectors][kVector] = {};
  float added[2 * Vectors][kVector] = {};
  wait_for_previous();
#pragma unroll
  for (int v = 0; v < 2 * Vectors; ++v) {
    const int64_t i = first + int64_t{v} * kHalf * kVector;
    if (i < rows.H) {
      load(rows.residual + row + i, values[v]);
      if (rows.delta != nullptr) {
        load(rows.delta + row + i, added[v]);
      }
    }
  }
  float sums[2] = {};
#pragma unroll
  for (int v = 0; v < 2 * Vectors; ++v) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      values[v][j] += added[v][j];
      sums[v % 2] += values[v][j] * values[v][j];
    }
  }
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = warp_sum(sums[half]);
    if (lane == 0) {
      partial[half * kWarps + threadIdx.x / kWarp] = sum;
    }
  }
  __syncthreads();
  const float sum = warp_sum(lane < 2 * kWarps ? partial[lane] : 0.0F);
  const float scale = 1.0F / sqrtf(sum / static_cast<float>(rows.H) + rows.eps);
#pragma unroll
  for (int v = 0; v < 2 * Vectors; ++v) {
    const int64_t i = first + int64_t{v} * kHalf * kVector;
    if (i < rows.H) {
      float factors[kVector];
      load(rows.weight + i, factors);
      if (rows.delta != nullptr) {
        store(rows.residual + row + i, values[v]);
      }
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        values[v][j] *= scale * (1.0F + factors[j]);
      }
      store(out + row + i, values[v]);
    }
  }
}

// Any H: the second pass reads the row again.
template <typename X>
__global__ void __launch_bounds__(kThreads) norm_in_two_passes(NormRows rows, X* out) {
  __shared__ float partial[kWarp];
  wait_for_previous();
  float* residual = rows.residual + blockIdx.x * rows.H;
  float sum = 0.0F;
  for (int64_t i = threadIdx.x; i < rows.H; i += kThreads) {
    float value = residual[i];
    if (rows.delta != nullptr) {
      value += rows.delta[blockIdx.x * rows.H + i];
      residual[i] = value;
    }
    sum += value * value;
  }
  const float scale = row_scale(sum, partial, rows);
  for (int64_t i = threadIdx.x; i < rows.H; i += kThreads) {
    out[blockIdx.x * rows.H + i] = from_float<X>(residual[i] * scale * (1.0F + rows.weight[i]));
  }
}

template <typename X>
using NormKernel = void (*)(NormRows, X*);

// How a number of rows is normed: one of them or few with the next kernel let in at once, or many.
enum class NormForm { kPlain, kBeside, kMany };

template <typename X, NormForm kForm, int Vectors>
constexpr NormKernel<X> kernel_of() {
  if constexpr (kForm == NormForm::kMany) {
    return norm_of_many<X, Vectors>;
  } else {
    return norm_in_registers<X, Vectors, kForm == NormForm::kBeside>;
  }
}

template <typename X, NormForm kForm>
NormKernel<X> choose_kernel(int64_t H) {
  constexpr int64_t kStep = int64_t{kThreads} * kVector;
  static constexpr NormKernel<X> kKernels[kMaxVectors] = {
      kernel_of<X, kForm, 1>(), kernel_of<X, kForm, 2>(), kernel_of<X, kForm, 3>(),
      kernel_of<X, kForm, 4>()};
  const int64_t vectors = ceil_div(H, kStep);
  return H % kVector == 0 && vectors <= kMaxVectors ? kKernels[vectors - 1] : norm_in_two_passes<X>;
}

template <typename X>
void launch_norm(const CudaContext& context, const AddRmsNormArgs& args, bool beside) {
  constexpr int64_t kFewestOfMany = 1024;
  const bool in_registers = args.H % kVector == 0 && args.H <= kMaxVectors * kVector * kThreads;
  const bool many = in_registers && args.T >= kFewestOfMany;
  const NormRows rows = {.residual = args.residual,
                         .delta = args.delta,
                         .weight = args.weight,
                         .H = args.H,
                         .eps = args.eps};
  const auto kernel = many     ? choose_kernel<X, NormForm::kMany>(args.H)
                      : beside ? choose_kernel<X, NormForm::kBeside>(args.H)
                               : choose_kernel<X, NormForm::kPlain>(args.H);
  launch_early(
      context, kernel,
      {.grid = dim3(static_cast<unsigned>(args.T)), .block = dim3(many ? kThreads / 2 : kThreads)},
      rows, static_cast<X*>(args.out));
}

// Whether the next product is one whose blocks ask for W as soon as they find room whatever W is:
// of one row, or a streamed one of more than eight.
constexpr bool starts_beside(int64_t rows) {
  return rows == 1 || (rows > kMaxSkinnyRows / 2 && rows <= kMaxStreamedRows);
}

}  // namespace
}  // namespace cuda

void launch_add_rms_norm(CudaContext& context, const AddRmsNormArgs& args) {
  launch_add_rms_norm(context, args, cuda::starts_beside(args.T));
}

void launch_add_rms_norm(CudaContext& context, const AddRmsNormArgs& args, bool beside) {
  cuda::with_x(context.compute_dtype,
               [&]<typename X>(X*) { cuda::launch_norm<X>(context, args, beside); });
}

}  // namespace deltaserve
