// The delta rule token by token (the maths: delta_rule_step.cuh): S is read once and written once
// per call, whatever the number of tokens. A warp holds `Rows` value rows in registers. What a
// block needs to find its state is read, and the state fetched into the cache, before the kernel
// before this one has ended.
#include <type_traits>

#include "backends/cuda/delta_rule_lanes.cuh"
#include "backends/cuda/delta_rule_layout.h"
#include "backends/cuda/delta_rule_step.cuh"
#include "backends/cuda/delta_rule_tokens.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve::cuda {
namespace {

constexpr int kWarps = 4;  // of a block

struct TokenRule {
  const int32_t* cu_seqlens = nullptr;    // [B + 1]
  const int32_t* context_lens = nullptr;  // [B]
  const int32_t* state_slots = nullptr;   // [B]
  const uint8_t* recurrent = nullptr;     // [B]
  const int32_t* stored_lens = nullptr;   // [B] or null
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
  const int own = SumLanes<Rows>::own(lane);
  const bool writes = SumLanes<Rows>::has_output(lane) && first + own < dv;
  const int own_row = min(first + own, dv - 1);
  const auto store_state = [&] {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      store_columns<N>(state + r * dk, S[r], lane, first + r < dv ? dk : 0);
    }
  };
  const int32_t begin = rule.cu_seqlens[s];
  // Drafts behind it leave the state as it is.
  const int32_t stored_end = rule.stored_lens != nullptr ? begin + rule.stored_lens[s] : end;
  for (int64_t t = begin; t < end; ++t) {
    const X* row = qkv + t * rule.qkv_stride;
    const float v = to_float(row[2 * key_width + head * dv + own_row]);
    const TokenGates gates = token_gates(to_float(a[t * rule.ba_stride + head]),
                                         to_float(b[t * rule.ba_stride + head]), rate, bias);
    const KeyQuery<N> x =
        load_key_query<N>(row + key_width + key_head * dk, row + key_head * dk, lane, dk);
    const float output = apply_token<Rows, N>(S, x, v, gates, lane);
    if (writes) {
      out[t * rule.out_stride + head * dv + own_row] = from_float<X>(output);
    }
    if (t + 1 == stored_end && stored_end < end) {
      store_state();
    }
  }
  let_next_start();
  if (stored_end == end) {
    store_state();
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
                          .stored_lens = batch.stored_lens,
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
