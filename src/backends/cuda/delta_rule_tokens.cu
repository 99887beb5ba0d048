// One pass over the state a token: with S as loaded, m = S k and y = S q are both reduced at once,
//   d = beta (v - e^g m),   o = e^g y + d (k . q),   S <- e^g S + d k^T
// so that S is read once and written once per call, whatever the number of tokens. A warp holds
// kRows value rows in registers, a lane four neighbouring columns of each (eight above dk = 128).
// The 2 kRows sums cross the lanes together: in each of five exchanges a lane gives half of its
// sums away and adds what it gets to the rest. The order of a sum depends on dk only. What a block
// needs to find its state is read, and the state fetched into the cache, before the kernel before
// this one has ended.
#include <type_traits>

#include "backends/cuda/delta_rule_layout.h"
#include "backends/cuda/delta_rule_tokens.cuh"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve::cuda {
namespace {

constexpr int kWarps = 4;        // of a block
constexpr float kL2Eps = 1e-6F;  // inside the root

struct TokenRule {
  const int32_t* cu_seqlens = nullptr;    // [B + 1]
  const int32_t* context_lens = nullptr;  // [B]
  const int32_t* state_slots = nullptr;   // [B]
  const uint8_t* recurrent = nullptr;     // [B]
  bool all = false;                       // also the sequences with recurrent == 0
  int32_t num_k_heads = 0;
  int32_t num_v_heads = 0;
  int32_t dk = 0;
  int32_t dv = 0;
  int64_t qkv_stride = 0;
  int64_t ba_stride = 0;
  int64_t out_stride = 0;
  const float* A_log = nullptr;    // [Hv]
  const float* dt_bias = nullptr;  // [Hv]
  float* state = nullptr;          // [slots][Hv][dv][dk]
};

// Sums over the lanes of N values each: lane l ends with the sum of value l / (32 / N) in x[0].
template <int N, int Offset = kWarp / 2>
__device__ __forceinline__ void sum_across(float* x, int lane) {
  if constexpr (N > 1) {
    const bool upper = (lane & Offset) != 0;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      const float given = upper ? x[i] : x[i + N / 2];
      const float kept = upper ? x[i + N / 2] : x[i];
      x[i] = kept + __shfl_xor_sync(kAllLanes, given, Offset);
    }
    if constexpr (Offset > 1) {
      sum_across<N / 2, Offset / 2>(x, lane);
    }
  } else {
#pragma unroll
    for (int offset = Offset; offset > 0; offset /= 2) {
      x[0] += __shfl_xor_sync(kAllLanes, x[0], offset);
    }
  }
}

template <int N>
__device__ __forceinline__ float dot(const float (&a)[N], const float (&b)[N]) {
  float sum = 0.0F;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

// A lane's columns of a row of `dk`: 4 lane .. 4 lane + 3, and 128 further if there are eight.
template <int N, typename T>
__device__ __forceinline__ void load_columns(float (&to)[N], const T* row, int lane, int dk) {
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    float part[4] = {};
    if (lane * 4 + i * kWarp < dk) {
      load<4>(row + lane * 4 + i * kWarp, part);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      to[i + j] = part[j];
    }
  }
}

// k and q of a token with their norms taken out, and k . q.
template <int N>
struct KeyQuery {
  float k[N];
  float q[N];
  float product = 0.0F;
};

template <int N, typename X>
__device__ __forceinline__ KeyQuery<N> load_key_query(const X* key, const X* query, int lane,
                                                      int dk) {
  KeyQuery<N> x;
  load_columns<N>(x.k, key, lane, dk);
  load_columns<N>(x.q, query, lane, dk);
  const float k_norm = rsqrtf(warp_sum(dot(x.k, x.k)) + kL2Eps);
  const float q_norm = rsqrtf(warp_sum(dot(x.q, x.q)) + kL2Eps) * rsqrtf(static_cast<float>(dk));
  x.product = warp_sum(dot(x.k, x.q)) * k_norm * q_norm;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    x.k[i] *= k_norm;
    x.q[i] *= q_norm;
  }
  return x;
}

// Brings `bytes`, a multiple of 16, to the second level cache: what others still write there is in
// it too.
__device__ __forceinline__ void prefetch_to_l2(const void* from, int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
#endif
}

// grid (B * Hv * ceil(dv / (kWarps * Rows))); N: columns of a lane. Dk: the head sizes where they
// are known when this is compiled, else 0.
template <typename X, int Rows, int N, int Dk>
__global__ void __launch_bounds__(kWarps* kWarp)
    delta_rule_tokens(const TokenRule rule, const X* __restrict__ qkv, const X* __restrict__ a,
                      const X* __restrict__ b, X* __restrict__ out) {
  const int dk = Dk > 0 ? Dk : rule.dk;
  const int dv = Dk > 0 ? Dk : rule.dv;
  const int parts = (dv + kWarps * Rows - 1) / (kWarps * Rows);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int block = static_cast<int>(blockIdx.x);
  const int head = block / parts % rule.num_v_heads;
  const int s = block / parts / rule.num_v_heads;
  const int first = (block % parts * kWarps + warp) * Rows;  // value row
  if (first >= dv || (rule.recurrent[s] == 0 && !rule.all)) {
    wait_for_previous();  // or this kernel might end before the one before it
    return;
  }
  const int key_head = head / (rule.num_v_heads / rule.num_k_heads);
  const int key_width = rule.num_k_heads * dk;
  const int32_t end = rule.cu_seqlens[s + 1];
  float* state =
      rule.state + delta_state_row(rule.state_slots[s], head, first, rule.num_v_heads, dk, dv);
  const bool zero = rule.context_lens[s] == 0;
  const float rate = -expf(rule.A_log[head]);
  const float bias = rule.dt_bias[head];
  if constexpr (Dk > 0) {
    if (lane == 0 && !zero) {
      prefetch_to_l2(state, Rows * Dk * static_cast<int>(sizeof(float)));
    }
  }
  wait_for_previous();
  float S[Rows][N];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    load_columns<N>(S[r], state + r * dk, lane, zero || first + r >= dv ? 0 : dk);
  }
  // The sums end up so: lane's is row `own`, of S k in the lower half of the lanes, else of S q.
  constexpr int kLanesPerSum = kWarp / (2 * Rows);
  const int own = lane / kLanesPerSum % Rows;
  const bool lower = lane < kWarp / 2;
  const bool writes = !lower && lane % kLanesPerSum == 0 && first + own < dv;
  const int own_row = min(first + own, dv - 1);
  for (int64_t t = rule.cu_seqlens[s]; t < end; ++t) {
    const X* row = qkv + t * rule.qkv_stride;
    const float v = to_float(row[2 * key_width + head * dv + own_row]);
    const float decay = expf(rate * softplus(to_float(a[t * rule.ba_stride + head]) + bias));
    const float beta = sigmoid(to_float(b[t * rule.ba_stride + head]));
    const KeyQuery<N> x =
        load_key_query<N>(row + key_width + key_head * dk, row + key_head * dk, lane, dk);
    float sums[2 * Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      sums[r] = dot(S[r], x.k);
      sums[Rows + r] = dot(S[r], x.q);
    }
    sum_across<2 * Rows>(sums, lane);
    const float delta = beta * (v - decay * sums[0]);  // right in the lower half
    const float own_delta = __shfl_sync(kAllLanes, delta, own * kLanesPerSum);
    if (writes) {
      out[t * rule.out_stride + head * dv + own_row] =
          from_float<X>(decay * sums[0] + own_delta * x.product);
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const float d = __shfl_sync(kAllLanes, delta, r * kLanesPerSum);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        S[r][i] = decay * S[r][i] + d * x.k[i];
      }
    }
  }
  let_next_start();
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const int column = lane * 4 + i * kWarp;
      if (first + r < dv && column < dk) {
        *reinterpret_cast<float4*>(state + r * dk + column) =
            make_float4(S[r][i], S[r][i + 1], S[r][i + 2], S[r][i + 3]);
      }
    }
  }
}

template <typename X, int Rows, int N, int Dk>
void launch_for(const CudaContext& context, const GatedDeltaRuleArgs& args, const TokenRule& rule) {
  const int32_t parts = ceil_div(args.dv, kWarps * Rows);
  const auto blocks = static_cast<unsigned>(args.batch->num_seqs * args.num_v_heads * parts);
  launch_early(context, delta_rule_tokens<X, Rows, N, Dk>,
               {.grid = blocks, .block = kWarps * kWarp}, rule, static_cast<const X*>(args.qkv),
               static_cast<const X*>(args.a), static_cast<const X*>(args.b),
               static_cast<X*>(args.out));
}

}  // namespace

void launch_delta_rule_tokens(const CudaContext& context, const GatedDeltaRuleArgs& args,
                              TokenSequences which) {
  const BatchView& batch = *args.batch;
  const TokenRule rule = {.cu_seqlens = batch.cu_seqlens,
                          .context_lens = batch.context_lens,
                          .state_slots = batch.state_slots,
                          .recurrent = batch.recurrent,
                          .all = which == TokenSequences::kAll,
                          .num_k_heads = args.num_k_heads,
                          .num_v_heads = args.num_v_heads,
                          .dk = args.dk,
                          .dv = args.dv,
                          .qkv_stride = args.qkv_stride,
                          .ba_stride = args.ba_stride,
                          .out_stride = args.out_stride,
                          .A_log = args.A_log,
                          .dt_bias = args.dt_bias,
                          .state = args.state};
  with_x(context.compute_dtype, [&](auto* x) {
    using X = std::remove_pointer_t<decltype(x)>;
    if (args.dk == 128 && args.dv == 128) {
      launch_for<X, 16, 4, 128>(context, args, rule);
    } else if (args.dk <= 128) {
      launch_for<X, 8, 4, 0>(context, args, rule);
    } else {
      launch_for<X, 4, 8, 0>(context, args, rule);
    }
  });
}

}  // namespace deltaserve::cuda
