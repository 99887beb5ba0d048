// gated_delta_rule: gates for all rows, then one task per sequence, head and group of strips. A
// task walks its sequence's rows in order: chunks that end on absolute multiples of 64 tokens, or
// token by token where the batch says so.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "backends/cpu/delta_rule.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/matrix_ops.h"
#include "backends/cpu/threads.h"
#include "ops/batch_view.h"

namespace deltaserve {
namespace {

float load_x(const CpuContext& context, const void* x, int64_t index) {
  return context.compute_dtype == DType::kBF16
             ? to_float(BFloat16{static_cast<const uint16_t*>(x)[index]})
             : static_cast<const float*>(x)[index];
}

// log(1 + e^x); x itself where they agree in float32.
float softplus(float x) {
  return x > 20.0F ? x : std::log1p(std::exp(x));
}

struct GateRows {
  float* g = nullptr;     // [T, Hv]
  float* beta = nullptr;  // [T, Hv]
};

void compute_gates(const CpuContext& context, const GatedDeltaRuleArgs& args, IndexRange tokens,
                   const GateRows& gates) {
  for (int64_t t = tokens.begin; t < tokens.end; ++t) {
    for (int64_t h = 0; h < args.num_v_heads; ++h) {
      const int64_t from = t * args.ba_stride + h;
      const int64_t to = t * args.num_v_heads + h;
      const float b = load_x(context, args.b, from);
      const float a = load_x(context, args.a, from);
      gates.beta[to] = 1.0F / (1.0F + std::exp(-b));
      gates.g[to] = -std::exp(args.A_log[h]) * softplus(a + args.dt_bias[h]);
    }
  }
}

struct HeadTask {
  int64_t sequence = 0;
  int64_t head = 0;
  IndexRange strips;
};

int64_t head_state_floats(int64_t dk, int64_t dv) {
  return delta_rule_strips(dv) * dk * kPanelColumns;
}

// `drafted`: room for a head's state.
void run_head(const CpuContext& context, const GatedDeltaRuleArgs& args, const GateRows& gates,
              const HeadTask& task, float* scratch, float* drafted) {
  const BatchView& batch = *args.batch;
  const int64_t element = dtype_size(context.compute_dtype);
  const int64_t key_head = task.head / (args.num_v_heads / args.num_k_heads);
  const int64_t key_width = int64_t{args.num_k_heads} * args.dk;
  const int64_t head_floats = head_state_floats(args.dk, args.dv);
  float* state =
      args.state +
      (int64_t{batch.state_slots[task.sequence]} * args.num_v_heads + task.head) * head_floats;
  const int64_t context_len = batch.context_lens[task.sequence];
  if (context_len == 0) {
    std::fill(state + task.strips.begin * args.dk * kPanelColumns,
              state + task.strips.end * args.dk * kPanelColumns, 0.0F);
  }
  const bool recurrent = batch.recurrent[task.sequence] != 0;
  const int64_t first = batch.cu_seqlens[task.sequence];
  const int64_t end = batch.cu_seqlens[task.sequence + 1];
  // Drafts behind them work on a copy of the state.
  const int64_t stored_end = first + batch.stored_len(task.sequence);
  for (int64_t row = first; row < end;) {
    const int64_t position = context_len + row - first;
    const int64_t to_border = recurrent ? kChunkSize : kChunkSize - position % kChunkSize;
    const int64_t count = std::min(to_border, (row < stored_end ? stored_end : end) - row);
    if (row == stored_end) {
      const int64_t from = task.strips.begin * args.dk * kPanelColumns;
      std::copy(state + from, state + task.strips.end * args.dk * kPanelColumns, drafted + from);
      state = drafted;
    }
    const auto at = [&](const void* base, int64_t index) {
      return static_cast<const std::byte*>(base) + index * element;
    };
    const int64_t qkv = row * args.qkv_stride;
    const DeltaRuleRows rows{.rows = count,
                             .dk = args.dk,
                             .dv = args.dv,
                             .q = at(args.qkv, qkv + key_head * args.dk),
                             .k = at(args.qkv, qkv + key_width + key_head * args.dk),
                             .v = at(args.qkv, qkv + 2 * key_width + task.head * args.dv),
                             .qk_stride = args.qkv_stride,
                             .v_stride = args.qkv_stride,
                             .g = gates.g + row * args.num_v_heads + task.head,
                             .beta = gates.beta + row * args.num_v_heads + task.head,
                             .gate_stride = args.num_v_heads,
                             .state = state,
                             .out = static_cast<std::byte*>(args.out) +
                                    (row * args.out_stride + task.head * args.dv) * element,
                             .out_stride = args.out_stride,
                             .strips = task.strips};
    if (recurrent) {
      delta_rule_recurrent(context, rows, scratch);
    } else {
      delta_rule_chunk(context, rows, scratch);
    }
    row += count;
  }
}

}  // namespace

int64_t cpu_recurrent_state_bytes(const CacheShape& shape) {
  return shape.num_v_heads * delta_rule_strips(shape.dv) * shape.dk * kPanelColumns *
         static_cast<int64_t>(sizeof(float));
}

void cpu_gated_delta_rule(CpuContext& context, const GatedDeltaRuleArgs& args) {
  const BatchView& batch = *args.batch;
  if (batch.num_tokens == 0) {
    return;
  }
  const int64_t gate_count = int64_t{batch.num_tokens} * args.num_v_heads;
  const int64_t max_tokens = std::max<int64_t>(batch.num_tokens, context.limits.max_tokens);
  context.require_shared_scratch(static_cast<size_t>(2 * max_tokens * args.num_v_heads) *
                                 sizeof(float));
  const int64_t scratch_bytes = delta_rule_scratch_bytes(args.dk);
  const int64_t drafted_bytes = batch.stored_lens == nullptr
                                    ? 0
                                    : head_state_floats(args.dk, args.dv) * int64_t{sizeof(float)};
  context.require_thread_scratch(static_cast<size_t>(scratch_bytes + drafted_bytes));
  auto* shared = context.shared_scratch<float>();
  const GateRows gates{.g = shared, .beta = shared + gate_count};

  // Heads are enough tasks for a few threads; strips of a head are shared out among many.
  const int64_t heads = int64_t{batch.num_seqs} * args.num_v_heads;
  const int64_t strips = delta_rule_strips(args.dv);
  const int64_t wanted = 4 * int64_t{context.threads};
  const int64_t groups = std::clamp<int64_t>((wanted + heads - 1) / heads, 1, strips);
  const int64_t tasks = heads * groups;
  std::atomic<int64_t> next = 0;
  parallel_region(context.threads, [&](const Team& team) {
    compute_gates(context, args, team.share(batch.num_tokens), gates);
    team.barrier();
    auto* scratch = context.thread_scratch<float>(team.thread);
    for (int64_t i = next.fetch_add(1); i < tasks; i = next.fetch_add(1)) {
      // Prompts stand behind the decoding sequences in a batch; their long tasks start first.
      const int64_t head = heads - 1 - i / groups;
      run_head(context, args, gates,
               {.sequence = head / args.num_v_heads,
                .head = head % args.num_v_heads,
                .strips = split_range(strips, groups, i % groups)},
               scratch, scratch + scratch_bytes / int64_t{sizeof(float)});
    }
  });
}

}  // namespace deltaserve
