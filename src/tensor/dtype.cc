// Names of element types and the half-precision conversion.
#include "tensor/dtype.h"

namespace deltaserve {

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float32";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    case DType::kF64:
      return "float64";
    case DType::kF8E4M3:
      return "float8_e4m3";
    case DType::kI8:
      return "int8";
    case DType::kU8:
      return "uint8";
    case DType::kI16:
      return "int16";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kBool:
      return "bool";
  }
  return "unknown";
}

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fU;
  const uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0) {
    // Zero and subnormals: mantissa * 2^-24 is exact in float32.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  // The exponent's bias goes from 15 to 127; all ones (infinity, NaN) stay all ones.
  const uint32_t wide = exponent == 0x1fU ? 0xffU : exponent + (127U - 15U);
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

}  // namespace deltaserve
