// The gated delta rule of one value head, in float32: token by token, or in chunks of up to 64
// tokens. The state of a head lies in strips of 32 value columns, [dv / 32][dk][32], dv padded with
// zeros: columns are independent, and a strip of 16 KiB stays in L1.
#pragma once

#include <cstdint>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/threads.h"

namespace deltaserve {

struct DeltaRuleRows {
  int64_t rows = 0;  // at most kChunkSize
  int64_t dk = 0;
  int64_t dv = 0;
  const void* q = nullptr;  // [rows, dk] X, raw: l2norm and the scale dk^-0.5 happen inside
  const void* k = nullptr;  // [rows, dk] X, raw
  const void* v = nullptr;  // [rows, dv] X
  int64_t qk_stride = 0;
  int64_t v_stride = 0;
  const float* g = nullptr;     // [rows] log decay, <= 0
  const float* beta = nullptr;  // [rows]
  int64_t gate_stride = 0;
  float* state = nullptr;  // the head's strips, updated
  void* out = nullptr;     // [rows, dv] X
  int64_t out_stride = 0;
  IndexRange strips;  // which of the ceil(dv / 32) strips to do
};

int64_t delta_rule_strips(int64_t dv);
int64_t delta_rule_scratch_bytes(int64_t dk);

// By the definition. The bits of a row do not depend on how many rows there are.
void delta_rule_recurrent(const CpuContext& context, const DeltaRuleRows& rows, float* scratch);

// All rows at once: with G the running sum of g and D_ij = exp(G_i - G_j) for j <= i, else 0,
//   R = beta (V - e^G K S);  (I + lower(beta K Kᵀ D)) N = R by forward substitution;
//   out = e^G Q S + (Q Kᵀ D) N;  S = e^G_last S + Kᵀ (e^(G_last - G) N).
void delta_rule_chunk(const CpuContext& context, const DeltaRuleRows& rows, float* scratch);

}  // namespace deltaserve
