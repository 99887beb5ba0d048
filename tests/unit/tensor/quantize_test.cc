// Quantising: how large the errors are, and what is refused.
#include "tensor/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace deltaserve {
namespace {

struct Matrix {
  std::vector<float> values;
  TensorView view;

  Matrix(std::vector<int64_t> shape, std::vector<float> elements) : values(std::move(elements)) {
    view = {.dtype = DType::kF32,
            .shape = std::move(shape),
            .data = reinterpret_cast<const std::byte*>(values.data())};
  }
};

Matrix normal_matrix(int64_t rows, int64_t K, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0F, 0.02F);
  std::vector<float> values(static_cast<size_t>(rows * K));
  for (float& value : values) {
    value = normal(generator);
  }
  return {{rows, K}, std::move(values)};
}

double relative_rms(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0.0;
  double norm = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    error += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    norm += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(error / norm);
}

float scale_of(const TensorView& view, int64_t group) {
  BFloat16 scale;
  std::memcpy(&scale, view.quantization.scales + group * 2, sizeof(scale));
  return to_float(scale);
}

TEST(Quantize, EightBitsAreWithinHalfAStep) {
  const Matrix matrix = normal_matrix(7, 200, 1);
  const QuantizedTensor tensor = QuantizedTensor::make(matrix.view, 8, 2).value();
  const TensorView& view = tensor.view();
  EXPECT_EQ(view.dtype, DType::kI8);
  EXPECT_EQ(view.num_bytes(), 7 * 200);
  EXPECT_EQ(view.num_groups(), 4);  // the last one is short
  const std::vector<float> values = to_float_vector(view);
  for (int64_t i = 0; i < 7 * 200; ++i) {
    const float step = scale_of(view, i / 200 * 4 + i % 200 / 64);
    // The scale is rounded to 8 bits, so the largest element may be one step off its rounding.
    ASSERT_NEAR(values[static_cast<size_t>(i)], matrix.values[static_cast<size_t>(i)],
                0.75F * step);
  }
  EXPECT_LT(relative_rms(values, matrix.values), 0.0062);
}

TEST(Quantize, FourBitsHaveTheErrorOfASearchedScale) {
  const Matrix matrix = normal_matrix(64, 1024, 2);
  const QuantizedTensor tensor = QuantizedTensor::make(matrix.view, 4, 2).value();
  EXPECT_EQ(tensor.view().dtype, DType::kU8);
  EXPECT_EQ(tensor.view().num_bytes(), 64 * 1024 / 2);
  // Normal values in groups of 32 with the largest at -8 would have 0.086.
  EXPECT_LT(relative_rms(to_float_vector(tensor.view()), matrix.values), 0.082);
}

// Small integers times a power of two need no rounding at all.
TEST(Quantize, KeepsWhatFits) {
  for (const int32_t bits : {8, 4}) {
    std::vector<float> values;
    for (int i = 0; i < 256; ++i) {
      values.push_back(static_cast<float>(i % 16 - 8) * 0.25F);
    }
    values[0] = bits == 8 ? 127.0F * 0.25F : -2.0F;
    for (size_t group = 1; group < 4 && bits == 8; ++group) {
      values[group * 64] = 127.0F * 0.25F;
    }
    const Matrix matrix({2, 128}, values);
    const QuantizedTensor tensor = QuantizedTensor::make(matrix.view, bits, 1).value();
    EXPECT_EQ(to_float_vector(tensor.view()), values) << bits;
  }
}

TEST(Quantize, ZerosStayZerosAndTinyGroupsBecomeZeros) {
  for (const int32_t bits : {8, 4}) {
    const Matrix zeros({1, 64}, std::vector<float>(64, 0.0F));
    EXPECT_EQ(to_float_vector(QuantizedTensor::make(zeros.view, bits, 1)->view()), zeros.values);
    const Matrix tiny({1, 64}, std::vector<float>(64, 1e-38F));
    EXPECT_EQ(to_float_vector(QuantizedTensor::make(tiny.view, bits, 1)->view()), zeros.values);
  }
}

TEST(Quantize, ThreadsAndSourceTypesMakeNoDifference) {
  const Matrix matrix = normal_matrix(11, 96, 3);
  std::vector<BFloat16> narrow;
  std::vector<float> rounded;
  for (const float value : matrix.values) {
    narrow.push_back(to_bfloat16(value));
    rounded.push_back(to_float(narrow.back()));
  }
  const TensorView bf16 = {.dtype = DType::kBF16,
                           .shape = {11, 96},
                           .data = reinterpret_cast<const std::byte*>(narrow.data())};
  const Matrix wide({11, 96}, rounded);
  for (const int32_t bits : {8, 4}) {
    const auto one = to_float_vector(QuantizedTensor::make(bf16, bits, 1)->view());
    EXPECT_EQ(one, to_float_vector(QuantizedTensor::make(bf16, bits, 5)->view()));
    EXPECT_EQ(one, to_float_vector(QuantizedTensor::make(wide.view, bits, 16)->view()));
  }
}

TEST(Quantize, RowsShareCodesAndScales) {
  const Matrix matrix = normal_matrix(12, 80, 4);
  TensorView stack = matrix.view;
  stack.shape = {3, 4, 80};
  for (const int32_t bits : {8, 4}) {
    const QuantizedTensor tensor = QuantizedTensor::make(stack, bits, 2).value();
    const std::vector<float> all = to_float_vector(tensor.view());
    const std::vector<float> part = to_float_vector(tensor.view().rows(1, 3));
    EXPECT_EQ(part, std::vector<float>(all.begin() + 4 * 80, all.end()));
    TensorView one = tensor.view().rows(2, 3);
    one.shape = {4, 80};
    EXPECT_EQ(to_float_vector(one.rows(3, 4)), std::vector<float>(all.end() - 80, all.end()));
  }
}

TEST(Quantize, RefusesWhatItCannotHold) {
  for (const int32_t bits : {8, 4}) {
    for (const float value :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      Matrix matrix = normal_matrix(5, 64, 5);
      matrix.values[200] = value;
      const auto tensor = QuantizedTensor::make(matrix.view, bits, 2);
      ASSERT_FALSE(tensor.has_value());
      EXPECT_NE(tensor.error().message.find("not finite"), std::string::npos);
    }
    TensorView integers = normal_matrix(2, 32, 6).view;
    integers.dtype = DType::kI32;
    EXPECT_FALSE(QuantizedTensor::make(integers, bits, 1).has_value());
    const Matrix vector({64}, std::vector<float>(64));
    EXPECT_FALSE(QuantizedTensor::make(vector.view, bits, 1).has_value());
  }
  const Matrix odd = normal_matrix(4, 33, 7);
  EXPECT_FALSE(QuantizedTensor::make(odd.view, 4, 1).has_value());
  EXPECT_TRUE(QuantizedTensor::make(odd.view, 8, 1).has_value());
}

}  // namespace
}  // namespace deltaserve
