// The first products of a block of experts in one launch: the router, whose results stay float32,
// and the shared expert's gate and up, which need nothing of it. For a handful of tokens the norm
// before the block is inside too: every thread block recomputes it while its weights arrive.
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_kernels.h"
#include "backends/cuda/skinny_form.cuh"
#include "backends/cuda/skinny_tile.cuh"

namespace deltaserve::cuda {
namespace {

struct RouteParams {
  int32_t T;
  int64_t H;
  const bf16* router;  // [router_rows][H]
  int64_t router_rows;
  const bf16* gate_up;  // [2 I][H] in groups
  float* logits;        // [T][logits_stride]
  int64_t logits_stride;
  bf16* act;  // [T][act_stride]
  int64_t act_stride;
  bf16* x;  // [T][H]: in, or with the norm out
  const float* residual;
  const float* delta;
  const float* norm_weight;
  float eps;
};

// Where a thread block's 16 rows are: the router's first, whose last tile may be short.
struct RouteTile {
  bool router;
  int64_t first;  // row of its matrix
};
__device__ __forceinline__ RouteTile route_tile(const RouteParams& params) {
  const int64_t router_tiles = (params.router_rows + kSkinnyRows - 1) / kSkinnyRows;
  const int64_t tile = blockIdx.x;
  return {tile < router_tiles, (tile < router_tiles ? tile : tile - router_tiles) * kSkinnyRows};
}

// This lane's rows g and g + 8. Rows beyond the router's last read the last.
__device__ __forceinline__ void route_rows(const RouteParams& params, const RouteTile& tile,
                                           const bf16* (&rows)[1][2]) {
  const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int64_t row = tile.first + half * 8 + g;
    rows[0][half] = tile.router ? params.router + min(row, params.router_rows - 1) * params.H
                                : params.gate_up + row * params.H;
  }
}

template <typename Form>
__device__ __forceinline__ void store_route(const RouteParams& params, const RouteTile& tile,
                                            const SkinnySums<Form>& sums) {
  using Sums = SkinnySums<Form>;
  if (tile.router) {
    for (int e = static_cast<int>(threadIdx.x); e < Sums::kCount; e += Form::kThreads) {
      const int64_t row = tile.first + Sums::row(e);
      const int token = Sums::token(e);
      if (row < params.router_rows && token < params.T) {
        params.logits[token * params.logits_stride + row] = sums.sum(e);
      }
    }
    return;
  }
  for (int i = static_cast<int>(threadIdx.x); i < Sums::kCount / 2; i += Form::kThreads) {
    const int e = i / 2 * 4 + i % 2;
    const int token = Sums::token(e);
    if (token < params.T) {
      params.act[token * params.act_stride + tile.first / 2 + Sums::row(e)] =
          from_float<bf16>(silu(sums.sum(e)) * sums.sum(e + 2));
    }
  }
}

template <typename Form>
__global__ void __launch_bounds__(Form::kThreads, Form::kBlocks)
    moe_route_kernel(RouteParams params) {
  __shared__ SkinnySums<Form> sums;
  const RouteTile tile = route_tile(params);
  const bf16* rows[1][2];
  route_rows(params, tile, rows);
  const bf16* x[Form::kTokenTiles];
#pragma unroll
  for (int m = 0; m < Form::kTokenTiles; ++m) {
    const int token = m * kSkinnyTokens + static_cast<int>(threadIdx.x) % kWarp / 4;
    x[m] = token < params.T ? params.x + token * params.H : nullptr;
  }
  skinny_products<Form>(rows, x, params.H, sums);
  store_route<Form>(params, tile, sums);
}

// The norm of row t into shared memory, by kThreads threads in the order of add_rms_norm.cu, whose
// bits it has. weight [H] is read by the thread that wrote it.
constexpr int kVector = 4;
template <int kThreads>
__device__ __forceinline__ void norm_row(const RouteParams& params, int t, const float* weight,
                                         float* partial, bf16* to) {
  const float* residual = params.residual + t * params.H;
  const float* delta = params.delta == nullptr ? nullptr : params.delta + t * params.H;
  const auto values_at = [&](int64_t i, float(&values)[kVector]) {
    load(residual + i, values);
    if (delta != nullptr) {
      float added[kVector];
      load(delta + i, added);
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        values[j] += added[j];
      }
    }
  };
  float sum = 0.0F;
#pragma unroll 1
  for (int64_t i = int64_t{threadIdx.x} * kVector; i < params.H; i += kThreads * kVector) {
    float values[kVector];
    values_at(i, values);
#pragma unroll
    for (const float value : values) {
      sum += value * value;
    }
  }
  const float scale =
      1.0F / sqrtf(block_sum(sum, partial) / static_cast<float>(params.H) + params.eps);
#pragma unroll 1
  for (int64_t i = int64_t{threadIdx.x} * kVector; i < params.H; i += kThreads * kVector) {
    float values[kVector];
    float factors[kVector];
    values_at(i, values);
    load(weight + i, factors);
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      values[j] *= scale * (1.0F + factors[j]);
    }
    store(to + i, values);
    if (blockIdx.x == 0) {
      store(params.x + t * params.H + i, values);
    }
  }
}

// Dynamic shared memory: the norm's weight [H], then the normed rows, [T][H + kRowPad].
constexpr int kRowPad = 8;  // spreads the rows over the banks
using NormForm = SkinnyForm<1, 1, 16, false, 1>;
constexpr int kNormWidth = NormForm::kThreads * kVector;

// The same for all of at most kMoeFewTokens rows of kNormWidth, which are asked for at once.
using RowPartials = float[kMoeFewTokens][NormForm::kWarps];
__device__ __forceinline__ void norm_rows(const RouteParams& params, const float* weight,
                                          RowPartials& partials, bf16* to) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int at = static_cast<int>(threadIdx.x) * kVector;
  float values[kMoeFewTokens][kVector] = {};
  float added[kMoeFewTokens][kVector] = {};
#pragma unroll
  for (int t = 0; t < kMoeFewTokens; ++t) {
    if (t < params.T) {
      load(params.residual + t * kNormWidth + at, values[t]);
      if (params.delta != nullptr) {
        load(params.delta + t * kNormWidth + at, added[t]);
      }
    }
  }
  float sums[kMoeFewTokens] = {};
#pragma unroll
  for (int t = 0; t < kMoeFewTokens; ++t) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      values[t][j] = params.delta == nullptr ? values[t][j] : values[t][j] + added[t][j];
      sums[t] += values[t][j] * values[t][j];
    }
    sums[t] = warp_sum(sums[t]);
    if (lane == 0) {
      partials[t][warp] = sums[t];
    }
  }
  __syncthreads();
  float factors[kVector];
  load(weight + at, factors);
#pragma unroll
  for (int t = 0; t < kMoeFewTokens; ++t) {
    if (t < params.T) {
      const float sum = warp_sum<NormForm::kWarps>(partials[t][lane % NormForm::kWarps]);
      const float scale = 1.0F / sqrtf(sum / static_cast<float>(kNormWidth) + params.eps);
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        values[t][j] *= scale * (1.0F + factors[j]);
      }
      store(to + t * (kNormWidth + kRowPad) + at, values[t]);
      if (blockIdx.x == 0) {
        store(params.x + t * kNormWidth + at, values[t]);
      }
    }
  }
}

__global__ void __launch_bounds__(NormForm::kThreads, NormForm::kBlocks)
    moe_norm_route_kernel(RouteParams params) {
  extern __shared__ __align__(16) float norm_weight[];
  bf16* const normed = reinterpret_cast<bf16*>(norm_weight + params.H);
  __shared__ SkinnySums<NormForm> sums;
  __shared__ float partial[kWarp];
  __shared__ RowPartials partials;
  let_next_start();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const RouteTile tile = route_tile(params);
  const bf16* rows[1][2];
  route_rows(params, tile, rows);
  const int64_t first = warp * kSkinnyPiece + lane % 4 * 8;
  constexpr int kStep = NormForm::kWarps * kSkinnyPiece;
  constexpr int kAhead = 2;  // pieces of W loaded before the norm: all there are for H = 2048
  uint4 w[kAhead][2][2];
  const auto load_w = [&](uint4(&to)[2][2], int64_t k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      to[i / 2][i % 2] = make_uint4(0, 0, 0, 0);
      if (k < params.H) {
        to[i / 2][i % 2] = load_once(rows[0][i / 2] + k + i % 2 * (kSkinnyPiece / 2));
      }
    }
  };
#pragma unroll
  for (int i = 0; i < kAhead; ++i) {
    load_w(w[i], first + i * kStep);
  }
#pragma unroll 1
  for (int64_t i = int64_t{threadIdx.x} * kVector; i < params.H;
       i += NormForm::kThreads * kVector) {
    float part[kVector];
    load(params.norm_weight + i, part);
    store(norm_weight + i, part);
  }
  wait_for_previous();
  if (params.H == kNormWidth) {
    norm_rows(params, norm_weight, partials, normed);
  } else {
#pragma unroll 1
    for (int t = 0; t < params.T; ++t) {
      norm_row<NormForm::kThreads>(params, t, norm_weight, partial,
                                   normed + t * (params.H + kRowPad));
    }
  }
  __syncthreads();
  float out[4] = {};
  const bf16* x = normed + lane / 4 * (params.H + kRowPad);
  const bool has_x = lane / 4 < params.T;
#pragma unroll 1
  for (int64_t k = first; k < params.H; k += kAhead * kStep) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int64_t at = k + i * kStep;
      if (k > first) {
        load_w(w[i], at);
      }
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        uint4 b = make_uint4(0, 0, 0, 0);
        if (has_x && at < params.H) {
          b = *reinterpret_cast<const uint4*>(x + at + p * (kSkinnyPiece / 2));
        }
        const uint4& low = w[i][0][p];
        const uint4& high = w[i][1][p];
        mma_bf16(out, low.x, high.x, low.y, high.y, b.x, b.y);
        mma_bf16(out, low.z, high.z, low.w, high.w, b.z, b.w);
      }
    }
  }
  *reinterpret_cast<float4*>(&sums.partial[warp][lane * 4]) =
      make_float4(out[0], out[1], out[2], out[3]);
  __syncthreads();
  store_route<NormForm>(params, tile, sums);
}

RouteParams route_params(const MoeBlockArgs& args) {
  return {.T = static_cast<int32_t>(args.T),
          .H = args.H,
          .router =
              static_cast<const bf16*>(static_cast<const CudaLinear&>(*args.router).values.data()),
          .router_rows = args.router->N,
          .gate_up = static_cast<const bf16*>(
              static_cast<const CudaGateUp&>(*args.shared_gate_up).values.data()),
          .logits = args.logits,
          .logits_stride = args.logits_stride,
          .act = static_cast<bf16*>(args.inner),
          .act_stride = args.inner_stride,
          .x = static_cast<bf16*>(args.x),
          .residual = args.residual,
          .delta = args.delta,
          .norm_weight = args.norm_weight,
          .eps = args.eps};
}

dim3 route_grid(const MoeBlockArgs& args) {
  return dim3(static_cast<unsigned>(ceil_div<int64_t>(args.router->N, kSkinnyRows) +
                                    2 * args.shared_gate_up->I / kSkinnyRows));
}

}  // namespace

void launch_moe_norm_route(CudaContext& context, const MoeBlockArgs& args) {
  const auto bytes = static_cast<size_t>(args.H) * sizeof(float) +
                     static_cast<size_t>(args.T * (args.H + kRowPad)) * sizeof(bf16);
  allow_shared(moe_norm_route_kernel, bytes);
  launch_early(context, moe_norm_route_kernel,
               {.grid = route_grid(args), .block = dim3(NormForm::kThreads), .shared_bytes = bytes},
               route_params(args));
}

void launch_moe_route(CudaContext& context, const MoeBlockArgs& args) {
  const auto with_form = [&]<typename Form>(Form) {
    const auto kernel = moe_route_kernel<Form>;
    if constexpr (Form::kTokenTiles > 1) {
      prefer_loads(context, kernel);
    }
    launch_early(context, kernel, {.grid = route_grid(args), .block = dim3(Form::kThreads)},
                 route_params(args));
  };
  if (args.T <= kSkinnyTokens) {
    with_form(SkinnyForm<1, 1, 16, true, 1>{});
  } else if (args.T <= 2 * kSkinnyTokens) {
    with_form(SkinnyForm<1, 2, 16, true, 1>{});
  } else {
    with_form(SkinnyForm<1, 4, 16, false, 1>{});
  }
}

}  // namespace deltaserve::cuda
