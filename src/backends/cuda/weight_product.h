// A product of rows of x with a weight as the kernels of bfloat16 on sm_90a take it: linear and
// gate_up_silu differ in W's rows and in what is made of the sums only.
#pragma once

#include <cstdint>

#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/lt_matmul.h"
#include "ops/args.h"
#include "ops/vision_args.h"

namespace deltaserve::cuda {

struct WeightProduct {
  const void* weight;  // [weight_rows][K]
  int64_t weight_rows;
  int64_t K;
  const void* x;  // [M][x_stride]
  int64_t x_stride;
  int64_t M;
  void* out;  // [M][out_stride]
  int64_t out_stride;
  int64_t columns;              // of out
  const float* bias = nullptr;  // [columns]
  Activation activation = Activation::kNone;
};

inline WeightProduct product_of(const MatmulArgs& args) {
  return {.weight = args.weight,
          .weight_rows = args.N,
          .K = args.K,
          .x = args.x,
          .x_stride = args.x_stride,
          .M = args.M,
          .out = args.out,
          .out_stride = args.out_stride,
          .columns = args.N};
}

inline WeightProduct product_of(const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CudaGateUp&>(*args.weight);
  const int64_t groups = (weight.I + kGateUpGroup - 1) / kGateUpGroup;
  return {.weight = weight.values.data(),
          .weight_rows = groups * 2 * kGateUpGroup,
          .K = weight.K,
          .x = args.x,
          .x_stride = args.x_stride,
          .M = args.M,
          .out = args.out,
          .out_stride = args.out_stride,
          .columns = weight.I};
}

}  // namespace deltaserve::cuda
