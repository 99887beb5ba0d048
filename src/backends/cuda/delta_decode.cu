// delta_decode: convolution, delta rule and gated norm of one token a sequence in one kernel, a
// value head of a sequence by a thread block of eight warps of 16 rows each, or of sixteen of 8
// where every block has a multiprocessor for itself. Five warps have a part more: those of q, k and
// v make the convolution's outputs and put them into shared memory rounded as the op would store
// them, one makes the gates, and one norms the head when all rows are there. Each asks for its own
// inputs, so that no warp waits for more than one trip to memory. Bits are those of the three ops.
// q and k of a key head are made by every block of its value heads, from the history before this
// step; the block that is the last to have read that history replaces it.
// Bound by bytes: the state read and written. It is in registers meanwhile or in shared memory
// (delta_decode_state.cuh), by the number of sequences.
#include <algorithm>
#include <type_traits>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/delta_decode_parts.cuh"
#include "backends/cuda/delta_decode_state.cuh"
#include "backends/cuda/delta_rule_lanes.cuh"
#include "backends/cuda/delta_rule_layout.h"
#include "backends/cuda/delta_rule_step.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/gated_rms_norm.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr size_t kPlainSharedBytes = 48 << 10;  // that a block may have without being allowed to

// The inputs before the next token of a key head's q and k; `key` is the lane's place in those of
// k, `key_width` channels behind q's.
template <typename Shared>
__device__ __forceinline__ void replace_history(const Shared& shared, float* key, int64_t key_width,
                                                int64_t C, int lane) {
#pragma unroll
  for (int i = 0; i < kConvHistory; ++i) {
    store_four(key - key_width + i * C, shared.history[kQueryWarp][i] + lane * 4);
    store_four(key + i * C, shared.history[kKeyWarp][i] + lane * 4);
  }
}

// grid (Hv / Hk, Hk, B)
template <typename X, typename State>
__global__ void __launch_bounds__(kDecodeThreads<State::kRows>, State::kBlocks)
    delta_decode(const DeltaDecode<X> decode) {
  if constexpr (State::kStaged && !kHopperCode) {
    return;
  }
  extern __shared__ uint4 shared_memory[];
  auto& shared = *reinterpret_cast<DeltaDecodeShared<X, State>*>(shared_memory);
  constexpr int kRows = State::kRows;
  constexpr int kThreads = kDecodeThreads<kRows>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const auto heads_per_key = static_cast<int>(gridDim.x);
  const auto key_head = static_cast<int>(blockIdx.y);
  const int head = key_head * heads_per_key + static_cast<int>(blockIdx.x);
  const auto s = static_cast<int>(blockIdx.z);
  const int first = warp * kRows;
  const int64_t C = int64_t{2 * decode.num_k_heads + decode.num_v_heads} * kDecodeDim;

  // What no kernel of this step writes before this one.
  const int64_t slot = decode.state_slots[s];
  const bool fresh = decode.context_lens[s] == 0;
  float* const rows =
      decode.state + delta_state_row(slot, head, first, decode.num_v_heads, kDecodeDim, kDecodeDim);
  const int conv_head = warp == kQueryWarp ? key_head
                        : warp == kKeyWarp ? decode.num_k_heads + key_head
                                           : 2 * decode.num_k_heads + head;
  const int64_t channel = int64_t{conv_head} * kDecodeDim + lane * 4;
  float* const history = decode.conv_state + slot * kConvHistory * C + channel;
  ConvLane<X> conv;
  if (warp < kConvWarps) {
    conv.load_weight(decode, channel);
  }
  const bool norms = warp == kNormWarp;
  float norm_weight[4] = {};
  float z[4] = {};
  if (norms) {
    load<4>(decode.norm_weight + lane * 4, norm_weight);
  }
  float a_log = 0.0F;  // its exponential would be waited for before the state is asked for
  float bias = 0.0F;
  if (warp == kGateWarp) {
    a_log = decode.A_log[head];
    bias = decode.dt_bias[head];
  }
  if (warp < kConvWarps) {
    conv.load_history(history, C, fresh);
  }
  State state(shared.state, warp);
  const bool early = !State::kStaged || s * decode.num_v_heads + head < decode.early_blocks;
  if (early) {
    state.ask(rows, fresh, lane);
  } else if (decode.fetches && !fresh && lane == 0) {
    prefetch_to_l2(rows, kRows * kDecodeDim * static_cast<int>(sizeof(float)));
  }
  // Where a warp's own inputs lie: x of a convolution, z, or the gates.
  const X* const four_at = norms ? decode.z + s * decode.z_stride + head * kDecodeDim + lane * 4
                                 : decode.x + s * decode.x_stride + channel;
  const int64_t gate_at = s * decode.ba_stride + head;
  wait_for_previous();
  if (!early) {
    state.ask(rows, fresh, lane);
  }

  FourOf<X> four{};
  X gate_a{};
  X gate_b{};
  if (warp <= kNormWarp) {
    four = load_as_is(four_at);
  } else if (warp == kGateWarp) {
    gate_a = decode.a[gate_at];
    gate_b = decode.b[gate_at];
  }
  let_next_start();
  if (warp < kConvWarps) {
    numbers_of(four, conv.x);
    conv.store_output(shared.conv[warp] + lane * 4);
    if (warp != kValueWarp) {
      conv.keep_history(shared.history[warp][0] + lane * 4);
    } else {
      conv.store_history(history, C);
    }
  } else if (norms) {
    numbers_of(four, z);
  } else if (warp == kGateWarp) {
    const TokenGates gates = token_gates(to_float(gate_a), to_float(gate_b), -expf(a_log), bias);
    if (lane == 0) {
      shared.gates = gates;
    }
  }
  __syncthreads();
  int32_t readers_before = 0;
  if (warp == kKeyWarp && lane == 0) {
    readers_before =
        count_reader(decode.readers + s * decode.num_k_heads + key_head, heads_per_key);
  }

  const TokenGates gates = shared.gates;
  const int own_row = first + SumLanes<kRows>::own(lane);
  const KeyQuery<4> x =
      load_key_query<4>(shared.conv[kKeyWarp], shared.conv[kQueryWarp], lane, kDecodeDim);
  TokenSums<kRows> sums;
  state.multiply(x, sums, lane);
  const TokenChange change =
      token_change<kRows>(sums, x.product, to_float(shared.conv[kValueWarp][own_row]), gates, lane);
  if (SumLanes<kRows>::has_output(lane)) {
    shared.out[own_row] = to_float(from_float<X>(change.output));
  }
  if (!norms) {
    named_barrier_arrive<kThreads>(1);
  }
  state.store(change, x, gates.decay, rows, lane);
  if (norms) {
    named_barrier<kThreads>(1);
    float y[4];
    load<4>(shared.out + lane * 4, y);
    norm_head<X, 4>(y, z, norm_weight, kDecodeDim, decode.eps);
    store<4>(decode.out + s * decode.out_stride + head * kDecodeDim + lane * 4, y);
  }
  if (warp == kKeyWarp && __shfl_sync(kAllLanes, readers_before, 0) == heads_per_key - 1) {
    replace_history(shared, history, int64_t{decode.num_k_heads} * kDecodeDim, C, lane);
  }
}

template <typename State, typename X>
void launch_with(const CudaContext& context, const DeltaDecode<X>& decode, int32_t num_seqs) {
  const auto kernel = delta_decode<X, State>;
  constexpr size_t kBytes = sizeof(DeltaDecodeShared<X, State>);
  if constexpr (kBytes > kPlainSharedBytes) {
    allow_shared(kernel, kBytes);
  }
  launch_early(
      context, kernel,
      {.grid = dim3(static_cast<unsigned>(decode.num_v_heads / decode.num_k_heads),
                    static_cast<unsigned>(decode.num_k_heads), static_cast<unsigned>(num_seqs)),
       .block = kDecodeThreads<State::kRows>,
       .shared_bytes = kBytes},
      decode);
}

// Beside products of more than 8 rows, which fill shared memory, the state is staged there; beside
// those of fewer that would cost most of them their first-level cache. A kernel has not ended while
// copies to blocks of the next one are on their way in its multiprocessors: with few sequences a
// third of the blocks wait for that, with many all fetch into the second-level cache only.
template <typename X>
void launch_decode(const CudaContext& context, DeltaDecode<X> decode, int32_t num_seqs) {
  constexpr int32_t kArch = 90;
  constexpr int32_t kMostInRegisters = 8;
  if constexpr (std::is_same_v<X, bf16>) {
    if (context.device.arch == kArch && num_seqs > kMostInRegisters) {
      decode.fetches = num_seqs > kMaxStreamedRows;
      decode.early_blocks =
          decode.fetches ? 0 : (StagedState::kBlocks - 1) * context.device.num_sms;
      launch_with<StagedState>(context, decode, num_seqs);
      return;
    }
    if (context.device.arch == kArch && num_seqs * decode.num_v_heads <= context.device.num_sms) {
      launch_with<RegisterState<true, 8>>(context, decode, num_seqs);
      return;
    }
    if (context.device.arch == kArch) {
      launch_with<RegisterState<true, 16>>(context, decode, num_seqs);
      return;
    }
  }
  launch_with<RegisterState<false, 16>>(context, decode, num_seqs);
}

}  // namespace
}  // namespace cuda

namespace {

bool serves_delta_decode(const DeltaDecodeArgs& args) {
  const GatedDeltaRuleArgs& rule = args.rule;
  return rule.dk == cuda::kDecodeDim && rule.dv == cuda::kDecodeDim &&
         args.conv.x_stride % 4 == 0 && args.norm.z_stride % 4 == 0 &&
         args.norm.out_stride % 4 == 0;
}

}  // namespace

bool launch_delta_decode(CudaContext& context, const DeltaDecodeArgs& args) {
  if (!serves_delta_decode(args)) {
    return false;
  }
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
    cuda::launch_decode<X>(context, decode, batch.num_seqs);
  });
  return true;
}

}  // namespace deltaserve
