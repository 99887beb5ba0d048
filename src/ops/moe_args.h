// Argument structs of the ops of a block of experts, as in args.h.
#pragma once

#include <cstdint>

#include "ops/weights.h"

namespace deltaserve {

// softmax over E in float32, the K largest (ties: lower id first), renormalised to sum 1.
struct MoeTopkArgs {
  int64_t T = 0;
  int32_t E = 0;
  int32_t K = 0;
  const float* logits = nullptr;  // [T, E]
  int64_t logits_stride = 0;
  bool renormalize = true;
  int32_t* expert_ids = nullptr;  // [T, K] ascending id within a row
  float* weights = nullptr;       // [T, K] matching
};

// out[t] = sum_k weights[t,k] * down_e(silu(gate_e x) * up_e x), experts in ascending id, float32
// sum, plus sigmoid(shared_gate[t]) * shared[t]. The product that enters down_e is rounded to X, as
// gate_up_silu does.
struct MoeArgs {
  int64_t T = 0;
  int32_t K = 0;
  const void* x = nullptr;  // [T, H] X
  int64_t x_stride = 0;
  const ExpertsWeight* experts = nullptr;
  const int32_t* expert_ids = nullptr;  // [T, K]
  const float* weights = nullptr;       // [T, K]
  const float* shared = nullptr;        // [T, H] output of the shared expert
  const float* shared_gate = nullptr;   // [T], row stride shared_gate_stride; before the sigmoid
  int64_t shared_gate_stride = 0;
  float* out = nullptr;  // [T, H]
};

// A whole block of experts and the norm before it: x = rms_norm(residual += delta), then residual
// += what linear (router, float32 out), moe_topk, gate_up_silu and linear (the shared expert) and
// moe make of x. The buffers that these write are scratch.
struct MoeBlockArgs {
  int64_t T = 0;
  int64_t H = 0;
  int32_t K = 0;
  bool renormalize = true;
  float* residual = nullptr;           // [T, H]
  const float* delta = nullptr;        // [T, H] or null
  const float* norm_weight = nullptr;  // [H]
  float eps = 0.0F;
  const LinearWeight* router = nullptr;  // rows E experts | 1 gate of the shared expert
  const ExpertsWeight* experts = nullptr;
  const GateUpWeight* shared_gate_up = nullptr;
  const LinearWeight* shared_down = nullptr;
  void* x = nullptr;        // [T, H] X
  float* logits = nullptr;  // [T, logits_stride]
  int64_t logits_stride = 0;
  int32_t* expert_ids = nullptr;  // [T, K]
  float* weights = nullptr;       // [T, K]
  void* inner = nullptr;          // [T, inner_stride] X
  int64_t inner_stride = 0;
  float* shared = nullptr;  // [T, H]
};

}  // namespace deltaserve
