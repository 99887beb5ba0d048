// The gated delta rule of one value head by its definition, token by token in float32: the function
// that the golden vectors check, and that the op is made of.
#pragma once

#include <cstdint>

namespace deltaserve::reference {

struct DeltaRuleHead {
  int64_t tokens = 0;
  int64_t dk = 0;
  int64_t dv = 0;
  const float* q = nullptr;  // [tokens, dk] raw: l2norm and scale happen inside
  const float* k = nullptr;  // [tokens, dk]
  int64_t qk_stride = 0;
  const float* v = nullptr;  // [tokens, dv]
  int64_t v_stride = 0;
  const float* g = nullptr;     // [tokens] log decay, <= 0
  const float* beta = nullptr;  // [tokens]
  int64_t gate_stride = 0;      // of g and beta
  float* state = nullptr;       // [dk, dv], updated
  float* out = nullptr;         // [tokens, dv]
  int64_t out_stride = 0;
};

void delta_rule(const DeltaRuleHead& head);

}  // namespace deltaserve::reference
