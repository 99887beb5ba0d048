// gated_delta_rule: which kernels serve it. On sm_90a bfloat16 prompts with heads of 128 go in
// chunks through the matrix unit; everything else goes token by token.
#include <algorithm>
#include <string>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/delta_rule_chunks.cuh"
#include "backends/cuda/delta_rule_layout.h"
#include "backends/cuda/delta_rule_tokens.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/scratch_plan.h"
#include "backends/cuda/tensor_map.h"

namespace deltaserve {
namespace {

using namespace cuda;

constexpr int32_t kChunkedArch = 90;
constexpr int32_t kMostHeadsPerKey = 4;  // warpgroups of a block of the first chunked kernel

bool has_chunk_kernels(const CudaDevice& device, DType compute_dtype) {
  return device.arch == kChunkedArch && compute_dtype == DType::kBF16;
}

// Of a call's arguments or of ModelShape.
template <typename Shape>
bool serves_chunks(const CudaContext& context, const Shape& shape) {
  return has_chunk_kernels(context.device, context.compute_dtype) && shape.dk == kDeltaDim &&
         shape.dv == kDeltaDim && shape.num_v_heads <= kMostHeadsPerKey * shape.num_k_heads;
}

// Places for solved chunks, see chunk_place.
int64_t chunk_places(int64_t tokens, int64_t sequences) {
  return tokens / kChunkSize + 2 * sequences;
}

// Bytes of scratch that so many places take. Of a call's arguments or of ModelShape.
struct ChunkScratch {
  size_t converted = 0;
  size_t solved = 0;
  size_t factors = 0;

  template <typename Shape>
  ChunkScratch(const CudaContext& context, const Shape& shape, int64_t places)
      : converted(context.fp16_delta_rule
                      ? static_cast<size_t>(places * shape.num_k_heads) * kConvertedBytes
                      : 0),
        solved(static_cast<size_t>(places * shape.num_v_heads) * kSolvedBytes),
        factors(static_cast<size_t>(places * shape.num_v_heads) * kFactorBytes) {}

  size_t total() const { return converted + solved + factors; }
};

// Chunks at the end of each sequence that are solved while the state is carried through those
// before them, on the multiprocessors that this leaves idle: as many as these solve in that time. A
// step of the state takes 1.1 us, a chunk of a value head 0.9 us of a multiprocessor.
int32_t chunks_beside(const ChunkedRule& rule, int32_t num_chunked, int32_t num_sms) {
  constexpr int32_t kFewest = 32;  // below, a second launch costs what it gains
  const int32_t idle = num_sms - carry_blocks(rule, num_chunked, num_sms);
  if (idle < num_sms / 8 || rule.num_chunks < kFewest) {
    return 0;
  }
  const double step = 1.1;
  const double solve = 0.9 * num_chunked * rule.num_v_heads / idle;
  return static_cast<int32_t>(rule.num_chunks * step / (step + solve));
}

void launch_chunks(CudaContext& context, const GatedDeltaRuleArgs& args) {
  const BatchView& batch = *args.batch;
  const int64_t places = std::max(chunk_places(batch.num_tokens, batch.num_seqs),
                                  chunk_places(context.limits.max_tokens, context.limits.max_seqs));
  const ChunkScratch sizes(context, args, places);
  char* scratch = context.scratch<char>(sizes.total());
  int32_t* handovers =
      context.zeros(static_cast<size_t>(context.device.num_sms) * size_t{kHandovers});
  const int32_t num_chunked = batch.num_chunked < 0 ? batch.num_seqs : batch.num_chunked;
  const ChunkedRule rule = {
      .cu_seqlens = batch.cu_seqlens,
      .context_lens = batch.context_lens,
      .state_slots = batch.state_slots,
      .recurrent = batch.recurrent,
      .num_seqs = batch.num_seqs,
      .num_k_heads = args.num_k_heads,
      .num_v_heads = args.num_v_heads,
      .first_chunk = 0,
      .num_chunks = count_chunks(kChunkSize - 1, batch.max_query_len),
      .b = static_cast<const bf16*>(args.b),
      .a = static_cast<const bf16*>(args.a),
      .ba_stride = args.ba_stride,
      .A_log = args.A_log,
      .dt_bias = args.dt_bias,
      .state = args.state,
      .out = static_cast<bf16*>(args.out),
      .out_stride = args.out_stride,
      .solved = scratch + sizes.converted,
      .converted = sizes.converted > 0 ? scratch : nullptr,
      .factors = reinterpret_cast<float*>(scratch + sizes.converted + sizes.solved),
      .handovers = handovers};
  const CUtensorMap qkv = make_tensor_map(
      args.qkv, batch.num_tokens, int64_t{2 * args.num_k_heads + args.num_v_heads} * kDeltaDim,
      args.qkv_stride, kChunkSize);
  const CUtensorMap out =
      make_tensor_map(args.out, batch.num_tokens, int64_t{args.num_v_heads} * kDeltaDim,
                      args.out_stride, kChunkSize);
  const auto solve = [&](cudaStream_t stream, const ChunkedRule& part) {
    const int64_t most = std::min(chunk_places(batch.num_tokens, num_chunked),
                                  int64_t{num_chunked} * part.num_chunks);
    launch_solve_chunks(stream, qkv, part, static_cast<int32_t>(most));
  };
  const auto carry = [&](const ChunkedRule& part) {
    launch_carry_state(context.stream, qkv, out, part, num_chunked, context.device.num_sms);
  };
  ChunkedRule now = rule;
  ChunkedRule beside = rule;
  beside.num_chunks = chunks_beside(rule, num_chunked, context.device.num_sms);
  now.num_chunks = rule.num_chunks - beside.num_chunks;
  beside.first_chunk = now.num_chunks;
  solve(context.stream, now);
  if (beside.num_chunks == 0) {
    carry(now);
    return;
  }
  context.side.fork(context.stream);
  carry(now);
  solve(context.side.stream(), beside);
  context.side.join(context.stream);
  carry(beside);
}

}  // namespace

int64_t delta_rule_scratch_bytes(const CudaContext& context, const StepLimits& limits) {
  if (!serves_chunks(context, limits.model)) {
    return 0;
  }
  const int64_t places = chunk_places(limits.max_tokens, limits.max_seqs);
  return static_cast<int64_t>(ChunkScratch(context, limits.model, places).total());
}

bool has_fp16_delta_rule(const CudaContext& context) {
  return has_chunk_kernels(context.device, context.compute_dtype);
}

std::string delta_rule_kernels(const CudaContext& context) {
  const std::string by_token = "by token, float32 state in registers";
  if (!has_chunk_kernels(context.device, context.compute_dtype)) {
    return by_token;
  }
  return "prompts with heads of " + std::to_string(kDeltaDim) + " in chunks of " +
         std::to_string(kChunkSize) + " (wgmma " + (context.fp16_delta_rule ? "fp16" : "bf16") +
         ", float32 state); else " + by_token;
}

void launch_gated_delta_rule(CudaContext& context, const GatedDeltaRuleArgs& args) {
  if (!serves_chunks(context, args)) {
    launch_delta_rule_tokens(context, args, TokenSequences::kAll);
    return;
  }
  if (args.batch->num_chunked != 0) {
    launch_chunks(context, args);
  }
  if (args.batch->num_chunked != args.batch->num_seqs) {
    launch_delta_rule_tokens(context, args, TokenSequences::kRecurrent);
  }
}

}  // namespace deltaserve
