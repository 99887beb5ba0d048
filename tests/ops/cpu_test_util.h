// Helpers for tests of the CPU backend's own functions: random tensors that own their data, the
// instruction sets of this machine, and activations in either compute dtype.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/cpu_info.h"
#include "tensor/dtype.h"
#include "tensor/tensor_view.h"

namespace deltaserve {

inline std::vector<CpuIsa> machine_isas() {
  std::vector<CpuIsa> isas;
  for (const CpuIsa isa : kCpuIsas) {
    if (cpu_supports(isa)) {
      isas.push_back(isa);
    }
  }
  return isas;
}

// float32 to half, for values that half represents exactly.
inline uint16_t exact_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  return static_cast<uint16_t>(magnitude == 0 ? sign : sign | ((magnitude - 0x38000000U) >> 13));
}

// Values in a dtype, as bytes of a buffer or a checkpoint tensor.
struct OwnedTensor {
  std::vector<std::byte> bytes;
  TensorView view;

  OwnedTensor(DType dtype, std::vector<int64_t> shape, const std::vector<float>& values) {
    const auto size = static_cast<size_t>(dtype_size(dtype));
    bytes.resize(values.size() * size);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t narrow =
          dtype == DType::kF16 ? exact_half(values[i]) : to_bfloat16(values[i]).bits;
      if (dtype == DType::kF32) {
        std::memcpy(&bytes[i * size], &values[i], size);
      } else {
        std::memcpy(&bytes[i * size], &narrow, size);
      }
    }
    view = {.dtype = dtype, .shape = std::move(shape), .data = bytes.data()};
  }
  OwnedTensor(const OwnedTensor&) = delete;
  OwnedTensor(OwnedTensor&& other) noexcept = default;
};

// Multiples of 1/128 in [-1, 1]: exact in bfloat16 and half.
inline std::vector<float> uniform_values(size_t count, uint32_t seed, float scale = 1.0F) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = scale * (static_cast<float>(generator() % 257) - 128.0F) / 128.0F;
  }
  return values;
}

// A buffer of the compute dtype X.
inline std::vector<std::byte> to_x(DType x, const std::vector<float>& values) {
  return OwnedTensor(x, {static_cast<int64_t>(values.size())}, values).bytes;
}

inline std::vector<float> from_x(DType x, const std::vector<std::byte>& bytes) {
  TensorView view{.dtype = x,
                  .shape = {static_cast<int64_t>(bytes.size()) / dtype_size(x)},
                  .data = bytes.data()};
  return to_float_vector(view);
}

}  // namespace deltaserve
