// The activations of linear_bias, in float32: a relative 2^-21 of x.
#pragma once

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/mma_bf16.cuh"
#include "ops/vision_args.h"

namespace deltaserve::cuda {

// GELU with tanh is x sigmoid(2 u): 0.5 (1 + tanh(u)) written without a difference.
__device__ __forceinline__ float activate(Activation activation, float x) {
  constexpr float kSqrtTwoOverPi = 0.797884560802865F;
  constexpr float kSqrtHalf = 0.707106781186548F;
  constexpr float kLog2E = 1.44269504F;
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kGeluTanh: {
      const float u = kSqrtTwoOverPi * (x + 0.044715F * x * x * x);
      return x * __frcp_rn(1.0F + exp2_fast(-2.0F * kLog2E * u));
    }
    case Activation::kGeluErf:
      return 0.5F * x * erfcf(-x * kSqrtHalf);
  }
  return x;
}

}  // namespace deltaserve::cuda
