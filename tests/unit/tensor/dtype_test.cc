// Conversions between float32 and the 16-bit floats.
#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/check.h"
#include "tensor/tensor_view.h"

namespace deltaserve {
namespace {

TEST(DType, BFloat16RoundsToNearestEven) {
  EXPECT_EQ(to_bfloat16(1.0F).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(1.00390625F).bits, 0x3f80);  // 1 + 2^-8: a tie, to even
  EXPECT_EQ(to_bfloat16(1.01171875F).bits, 0x3f82);  // 1 + 3 * 2^-8: a tie, to even
  EXPECT_EQ(to_bfloat16(1.0039065F).bits, 0x3f81);   // just above the tie
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(DType, EveryBFloat16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 value{static_cast<uint16_t>(bits)};
    const float wide = to_float(value);
    if (!std::isnan(wide)) {
      ASSERT_EQ(to_bfloat16(wide).bits, value.bits);
    }
  }
}

TEST(DType, EveryHalfHasItsDefinedValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int sign = (bits & 0x8000U) != 0 ? -1 : 1;
    const int exponent = static_cast<int>((bits >> 10) & 0x1fU);
    const int mantissa = static_cast<int>(bits & 0x3ffU);
    const float value = half_to_float(static_cast<uint16_t>(bits));
    if (exponent == 31) {
      ASSERT_TRUE(mantissa == 0 ? std::isinf(value) : std::isnan(value));
      ASSERT_TRUE(mantissa != 0 || std::signbit(value) == (sign < 0));
    } else {
      const double expected =
          exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
      ASSERT_EQ(value, sign * expected);
    }
  }
}

TEST(TensorView, ReadsUnalignedElementsAsFloat) {
  const unsigned char bytes[] = {0xff, 0x80, 0x3f, 0x00, 0xc0};  // bf16 1.0, -2.0 at offset 1
  const TensorView view{
      .dtype = DType::kBF16, .shape = {2}, .data = reinterpret_cast<const std::byte*>(bytes) + 1};
  EXPECT_EQ(to_float_vector(view), (std::vector<float>{1.0F, -2.0F}));
}

TEST(TensorView, RowsShareTheData) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const TensorView view{
      .dtype = DType::kF32, .shape = {3, 2}, .data = reinterpret_cast<const std::byte*>(values)};
  EXPECT_EQ(to_float_vector(view.rows(1, 3)), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(view.rows(1, 1).num_elements(), 0);
}

TEST(TensorView, IntegersAreNotFloats) {
  const int32_t value = 1;
  const TensorView view{
      .dtype = DType::kI32, .shape = {1}, .data = reinterpret_cast<const std::byte*>(&value)};
  EXPECT_THROW(to_float_vector(view), InvariantError);
}

}  // namespace
}  // namespace deltaserve
