// Element types of checkpoints and buffers, and the exact conversions between float32 and the
// 16-bit floats (round to nearest even, as every framework stores them).
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace deltaserve {

enum class DType : uint8_t { kF32, kBF16, kF16, kF64, kF8E4M3, kI8, kU8, kI16, kI32, kI64, kBool };

constexpr int64_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
    case DType::kI16:
      return 2;
    case DType::kF8E4M3:
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

// "float32", "bfloat16", ...: the names of --dtype and of error messages.
std::string_view dtype_name(DType dtype);

// A bfloat16 value; arithmetic happens in float32.
struct BFloat16 {
  uint16_t bits = 0;
};

inline float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

// Round to nearest even; NaN stays a quiet NaN.
inline BFloat16 to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    return {static_cast<uint16_t>((bits >> 16) | 0x40U)};
  }
  const uint32_t rounding = 0x7fffU + ((bits >> 16) & 1U);
  return {static_cast<uint16_t>((bits + rounding) >> 16)};
}

// IEEE half precision to float32, subnormals included.
float half_to_float(uint16_t bits);

}  // namespace deltaserve
