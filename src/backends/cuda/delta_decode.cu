// delta_decode: convolution, delta rule and gated norm of one token a sequence in one kernel, a
// value head of a sequence by eight warps of 16 rows each, as one thread block, or as a cluster of
// two where there are few heads. Four warps have a part more: those of q, k and v make the
// convolution's outputs and put them into shared memory rounded as the op would store them, and
// one norms the head when all rows are there. Bits are those of the three ops.
// q and k of a key head are made by every block of its value heads, from the history before this
// step; the block that is the last to have read that history replaces it.
// Bound by bytes: the state read and written.
#include <algorithm>
#include <type_traits>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/delta_decode_parts.cuh"
#include "backends/cuda/delta_rule_layout.h"
#include "backends/cuda/delta_rule_step.cuh"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/gated_rms_norm.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve {
namespace cuda {
namespace {

// A block's part of a head.
template <typename X, int Parts, bool kEarly, bool kSoon>
__device__ __forceinline__ void decode_head(const DeltaDecode<X>& decode,
                                            DeltaDecodeShared<X>& shared) {
  using Team = HeadTeam<Parts>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int part = static_cast<int>(blockIdx.x) % Parts;
  const int head = static_cast<int>(blockIdx.x) / Parts % decode.num_v_heads;
  const int s = static_cast<int>(blockIdx.x) / Parts / decode.num_v_heads;
  const int first = (part * (kHeadWarps / Parts) + warp) * kDecodeRows;
  const int heads_per_key = decode.num_v_heads / decode.num_k_heads;
  const int key_head = head / heads_per_key;
  const int64_t C = int64_t{2 * decode.num_k_heads + decode.num_v_heads} * kDecodeDim;
  Team::begin(shared);

  // What no kernel of this step writes, and what the cache may fetch already.
  const int64_t slot = decode.state_slots[s];
  const bool fresh = decode.context_lens[s] == 0;
  float* const state =
      decode.state + delta_state_row(slot, head, first, decode.num_v_heads, kDecodeDim, kDecodeDim);
  const int conv_head = warp == kQueryWarp ? key_head
                        : warp == kKeyWarp ? decode.num_k_heads + key_head
                                           : 2 * decode.num_k_heads + head;
  const int64_t channel = int64_t{conv_head} * kDecodeDim + lane * 4;
  // Of v a block has the channels of its rows only.
  const bool own_channels = warp != kValueWarp || lane / (kWarp / Parts) == part;
  float* const history = decode.conv_state + slot * kConvHistory * C + channel;
  if (!kEarly && !fresh) {
    if (lane == 0) {
      prefetch_to_l2(state, kDecodeRows * kDecodeDim * static_cast<int>(sizeof(float)));
      if (warp < kConvWarps) {
#pragma unroll
        for (int i = 0; i < kConvHistory; ++i) {
          prefetch_to_l2(history + i * C, kDecodeDim * static_cast<int>(sizeof(float)));
        }
      }
    }
  }
  ConvLane<X> conv;
  if (warp < kConvWarps) {
    conv.load_weight(decode, channel);
  }
  const bool norms = warp == kNormWarp && part == 0;
  float norm_weight[4] = {};
  float z[4] = {};
  if (norms) {
    load<4>(decode.norm_weight + lane * 4, norm_weight);
  }
  const float rate = -expf(decode.A_log[head]);
  const float bias = decode.dt_bias[head];
  float S[kDecodeRows][4];
  const auto load_state = [&] {
    if (warp < kConvWarps) {
      conv.load_history(history, C, fresh || !own_channels);
    }
#pragma unroll
    for (int r = 0; r < kDecodeRows; ++r) {
      load_columns<4>(S[r], state + r * kDecodeDim, lane, fresh ? 0 : kDecodeDim);
    }
  };
  if (kEarly) load_state();
  Team::wait_begun();
  wait_for_previous();

  if (warp < kConvWarps) {
    load<4>(decode.x + s * decode.x_stride + channel, conv.x);
  }
  if (norms) {
    load<4>(decode.z + s * decode.z_stride + head * kDecodeDim + lane * 4, z);
  }
  const float gate_a = to_float(decode.a[s * decode.ba_stride + head]);
  const float gate_b = to_float(decode.b[s * decode.ba_stride + head]);
  if (!kEarly) load_state();
  if (kSoon) let_next_start();
  if (warp < kConvWarps) {
    conv.store_output(shared.conv[warp] + lane * 4);
    if (warp != kValueWarp) {
      conv.keep_history(shared.history[warp][0] + lane * 4);
    } else if (own_channels) {
      conv.store_history(history, C);
    }
  }
  __syncthreads();
  bool replaces = false;
  if (warp == kKeyWarp && lane == 0) {
    replaces =
        last_reader(decode.readers + s * decode.num_k_heads + key_head, heads_per_key * Parts);
  }

  const TokenGates gates = token_gates(gate_a, gate_b, rate, bias);
  const int own_row = first + SumLanes<kDecodeRows>::own(lane);
  const KeyQuery<4> x =
      load_key_query<4>(shared.conv[kKeyWarp], shared.conv[kQueryWarp], lane, kDecodeDim);
  const float output =
      apply_token<kDecodeRows, 4>(S, x, to_float(shared.conv[kValueWarp][own_row]), gates, lane);
  if (SumLanes<kDecodeRows>::has_output(lane)) {
    Team::store_row(shared, own_row, to_float(from_float<X>(output)));
  }
  Team::arrive_rows(norms);
  if (!kSoon) let_next_start();
#pragma unroll
  for (int r = 0; r < kDecodeRows; ++r) {
    store_columns<4>(state + r * kDecodeDim, S[r], lane, kDecodeDim);
  }
  if (norms) {
    Team::wait_rows(shared);
    float y[4];
    load<4>(shared.out + lane * 4, y);
    norm_head<4>(y, z, norm_weight, kDecodeDim, decode.eps);
    store<4>(decode.out + s * decode.out_stride + head * kDecodeDim + lane * 4, y);
  }
  if (warp == kKeyWarp && __shfl_sync(kAllLanes, replaces ? 1 : 0, 0) != 0) {
    const int64_t query = int64_t{decode.num_k_heads} * kDecodeDim;
#pragma unroll
    for (int i = 0; i < kConvHistory; ++i) {
      store_four(history - query + i * C, shared.history[kQueryWarp][i] + lane * 4);
      store_four(history + i * C, shared.history[kKeyWarp][i] + lane * 4);
    }
  }
}

// grid (B * Hv * Parts), Parts neighbours a cluster.
template <typename X, int Parts, bool kEarly, bool kSoon>
__global__ void __launch_bounds__(kHeadWarps* kWarp / Parts, 2 * Parts)
    delta_decode(const DeltaDecode<X> decode) {
  __shared__ DeltaDecodeShared<X> shared;
  if constexpr (Parts == 1 || kClusterCode) {
    decode_head<X, Parts, kEarly, kSoon>(decode, shared);
  }
}

template <typename X, int Parts, bool kEarly, bool kSoon>
void launch_for(const CudaContext& context, const DeltaDecode<X>& decode, int32_t num_seqs) {
  const LaunchShape shape = {.grid = static_cast<unsigned>(num_seqs * decode.num_v_heads * Parts),
                             .block = static_cast<unsigned>(HeadTeam<Parts>::kThreads)};
  if constexpr (Parts > 1) {
    launch_cluster<true>(context, delta_decode<X, Parts, kEarly, kSoon>, Parts, shape, decode);
  } else {
    launch_early(context, delta_decode<X, Parts, kEarly, kSoon>, shape, decode);
  }
}

}  // namespace
}  // namespace cuda

bool serves_delta_decode(const DeltaDecodeArgs& args) {
  const GatedDeltaRuleArgs& rule = args.rule;
  return rule.dk == cuda::kDecodeDim && rule.dv == cuda::kDecodeDim &&
         args.conv.x_stride % 4 == 0 && args.norm.z_stride % 4 == 0 &&
         args.norm.out_stride % 4 == 0;
}

void launch_delta_decode(CudaContext& context, const DeltaDecodeArgs& args, DeltaDecodeForm form) {
  const GatedDeltaRuleArgs& rule = args.rule;
  const BatchView& batch = *rule.batch;
  const int64_t most_seqs = std::max<int64_t>(batch.num_seqs, context.limits.max_seqs);
  int32_t* readers = context.zeros(static_cast<size_t>(most_seqs * rule.num_k_heads));
  cuda::with_x(context.compute_dtype, [&](auto* type) {
    using X = std::remove_pointer_t<decltype(type)>;
    const cuda::DeltaDecode<X> decode = {.context_lens = batch.context_lens,
                                         .state_slots = batch.state_slots,
                                         .num_k_heads = rule.num_k_heads,
                                         .num_v_heads = rule.num_v_heads,
                                         .x = static_cast<const X*>(args.conv.x),
                                         .x_stride = args.conv.x_stride,
                                         .conv_weight = args.conv.weight,
                                         .conv_state = args.conv.conv_state,
                                         .b = static_cast<const X*>(rule.b),
                                         .a = static_cast<const X*>(rule.a),
                                         .ba_stride = rule.ba_stride,
                                         .A_log = rule.A_log,
                                         .dt_bias = rule.dt_bias,
                                         .state = rule.state,
                                         .z = static_cast<const X*>(args.norm.z),
                                         .z_stride = args.norm.z_stride,
                                         .norm_weight = args.norm.weight,
                                         .eps = args.norm.eps,
                                         .out = static_cast<X*>(args.norm.out),
                                         .out_stride = args.norm.out_stride,
                                         .readers = readers};
    switch (form) {
      case DeltaDecodeForm::kOneBlockAHead:
        return cuda::launch_for<X, 1, false, false>(context, decode, batch.num_seqs);
      case DeltaDecodeForm::kTwoBlocksAHead:
        return cuda::launch_for<X, 2, false, false>(context, decode, batch.num_seqs);
      case DeltaDecodeForm::kOneBlockEarly:
        return cuda::launch_for<X, 1, true, false>(context, decode, batch.num_seqs);
      case DeltaDecodeForm::kTwoBlocksEarly:
        return cuda::launch_for<X, 2, true, false>(context, decode, batch.num_seqs);
      case DeltaDecodeForm::kTwoBlocksSoon:
        return cuda::launch_for<X, 2, true, true>(context, decode, batch.num_seqs);
    }
  });
}

bool launch_delta_decode(CudaContext& context, const DeltaDecodeArgs& args) {
  if (!serves_delta_decode(args)) {
    return false;
  }
  const int64_t heads = int64_t{args.rule.batch->num_seqs} * args.rule.num_v_heads;
  const bool idle = heads < context.device.num_sms && context.device.arch >= cuda::kEarlyLaunchArch;
  launch_delta_decode(context, args,
                      idle ? DeltaDecodeForm::kTwoBlocksEarly : DeltaDecodeForm::kOneBlockEarly);
  return true;
}

}  // namespace deltaserve
