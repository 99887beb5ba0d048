// Products of rows of x without a gap, as tests of their kernels compare them.
#pragma once

#include <cstdint>
#include <vector>

#include "conformance.h"

namespace deltaserve {

// x [M, K] times `weight`: [M, N], which the backend keeps in float32 or its compute dtype.
inline std::vector<float> linear_rows(Backend& backend, const LinearWeight& weight,
                                      const std::vector<float>& x, bool out_float) {
  const auto M = static_cast<int64_t>(x.size()) / weight.K;
  const DType dtype = backend.compute_dtype();
  const DeviceTensor in(backend, dtype, x);
  const DeviceTensor out(backend, out_float ? DType::kF32 : dtype,
                         static_cast<size_t>(M * weight.N));
  backend.linear({.M = M,
                  .x = in.data(),
                  .x_stride = weight.K,
                  .weight = &weight,
                  .out = out.data(),
                  .out_stride = weight.N,
                  .out_float = out_float});
  return out.values();
}

// silu(x gate) * (x up): [M, I].
inline std::vector<float> gate_up_rows(Backend& backend, const GateUpWeight& weight,
                                       const std::vector<float>& x) {
  const auto M = static_cast<int64_t>(x.size()) / weight.K;
  const DeviceTensor in(backend, backend.compute_dtype(), x);
  const DeviceTensor out(backend, backend.compute_dtype(), static_cast<size_t>(M * weight.I));
  backend.gate_up_silu({.M = M,
                        .x = in.data(),
                        .x_stride = weight.K,
                        .weight = &weight,
                        .out = out.data(),
                        .out_stride = weight.I});
  return out.values();
}

}  // namespace deltaserve
