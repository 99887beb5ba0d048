// Arguments and shared memory of the kernel of one token's experts (moe_one.cu).
#pragma once

#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/moe_one_meeting.cuh"
#include "backends/cuda/moe_one_shape.cuh"
#include "backends/cuda/skinny_form.cuh"

namespace deltaserve::cuda {

struct MoeOne {
  float* residual;           // [H]
  const float* delta;        // [H] or null
  const float* norm_weight;  // [H]
  float eps;
  const bf16* router;  // [router_rows][H]: experts, then the shared one's gate
  int32_t router_rows;
  const bf16* shared_gate_up;  // [2 I][H] in groups
  const bf16* gate_up;         // [E][2 I][H] in groups
  const bf16* down;            // [E][H][I]
  const bf16* shared_down;     // [H][I]
  int32_t E;
  int32_t K;
  bool renormalize;
  OneMeeting* meeting;
};

struct MoeOneShared {
  alignas(16) bf16 x[kOneH];                            // normed
  alignas(16) bf16 act[kOneWarps][kOneI / kOneHalves];  // of x of down, a warp's part
  alignas(16) bf16 shared_act[kOneI];                   // and of the shared expert's
  alignas(16) bf16 shared_down[kSkinnyRows][kOneDownStride];
  float partial[kOneWarps];
  int32_t ids[kOneMostK];
  float weights[kOneMostK];
  float gate;                             // of the shared expert
  uint32_t launch;                        // this one's number
  alignas(16) float before[kSkinnyRows];  // the residual's elements that are this block's
  float dots[kOneMostK + 1][kSkinnyRows];
  struct {
    union {
      float route[kOneRouteChains][kSkinnyRows];
      float gate_up[kOneMostTiles][kOneChains][kSkinnyRows];
    };
    float down[kOneMostK + 1][kOneChains][kSkinnyRows];
  } chains;
};

}  // namespace deltaserve::cuda
