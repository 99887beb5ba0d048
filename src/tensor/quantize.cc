// One group at a time, in loops over a fixed number of floats that the compiler vectorises.
#include "tensor/quantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace deltaserve {

namespace {

template <int32_t Bits>
using Group = std::array<float, quantization_group(Bits)>;  // zeros beyond a row's end

// Adding and taking away 1.5 * 2^23 rounds to the nearest integer, ties to even, below 2^22.
constexpr float kRound = 12582912.0F;

float round_to_integer(float value) {
  return (value + kRound) - kRound;
}

void load_floats(const TensorView& view, int64_t first, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    if (view.dtype == DType::kF32) {
      std::memcpy(to + i, view.data + (first + i) * 4, sizeof(float));
      continue;
    }
    uint16_t bits = 0;
    std::memcpy(&bits, view.data + (first + i) * 2, sizeof(bits));
    to[i] = view.dtype == DType::kBF16 ? to_float(BFloat16{bits}) : half_to_float(bits);
  }
}

// The element of the largest magnitude, with its sign; NaN or infinite if an element is.
template <int32_t Bits>
float extreme(const Group<Bits>& group) {
  float best = 0.0F;
  for (const float value : group) {
    if (!std::isfinite(value)) {
      return value;
    }
    best = std::abs(value) > std::abs(best) ? value : best;
  }
  return best;
}

// Integers in [low, high] nearest to x / scale.
template <int32_t Bits>
void round_group(const Group<Bits>& group, float scale, float low, float high, Group<Bits>& out) {
  const float inverse = scale == 0.0F ? 0.0F : 1.0F / scale;
  for (size_t i = 0; i < group.size(); ++i) {
    const float rounded = round_to_integer(group[i] * inverse);
    const float at_least = rounded < low ? low : rounded;
    out[i] = at_least > high ? high : at_least;
  }
}

template <int32_t Bits>
float squared_error(const Group<Bits>& group, float scale, const Group<Bits>& integers) {
  std::array<float, 4> sums = {};
  for (size_t i = 0; i < group.size(); i += sums.size()) {
    for (size_t j = 0; j < sums.size(); ++j) {
      const float error = group[i + j] - scale * integers[i + j];
      sums[j] += error * error;
    }
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// A scale that bfloat16 holds. Its inverse must be finite: groups below 2^-100 become zeros.
BFloat16 to_scale(float value) {
  return std::abs(value) < 0x1p-100F ? BFloat16{} : to_bfloat16(value);
}

BFloat16 quantize_group(const Group<8>& group, float largest, Group<8>& integers) {
  const BFloat16 scale = to_scale(std::abs(largest) / 127.0F);
  round_group<8>(group, to_float(scale), -127.0F, 127.0F, integers);
  return scale;
}

// The largest element may become -8 (the scale takes its sign), or be clipped to it: the divisors
// tried are 6.5 to 9.5, beyond which none was ever best in normal and in trained weights.
BFloat16 quantize_group(const Group<4>& group, float largest, Group<4>& integers) {
  constexpr int kTries = 13;
  BFloat16 best_scale;
  float best_error = std::numeric_limits<float>::infinity();
  Group<4> tried = {};
  for (int i = 0; i < kTries; ++i) {
    const BFloat16 scale = to_scale(largest / -(6.5F + 0.25F * static_cast<float>(i)));
    round_group<4>(group, to_float(scale), -8.0F, 7.0F, tried);
    const float error = squared_error<4>(group, to_float(scale), tried);
    if (error < best_error) {
      best_error = error;
      best_scale = scale;
      integers = tried;
    }
  }
  return best_scale;
}

void store_codes(const Group<8>& integers, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<std::byte>(static_cast<int8_t>(integers[static_cast<size_t>(i)]));
  }
}

void store_codes(const Group<4>& integers, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; i += 2) {
    const auto low = static_cast<int32_t>(integers[static_cast<size_t>(i)]) + 8;
    const auto high = static_cast<int32_t>(integers[static_cast<size_t>(i) + 1]) + 8;
    to[i / 2] = static_cast<std::byte>(low | (high << 4));
  }
}

template <int32_t Bits>
Result<void> quantize_all(const TensorView& rows, std::byte* code, BFloat16* scale) {
  constexpr int64_t kGroup = quantization_group(Bits);
  const int64_t K = rows.shape.back();
  const int64_t num_rows = rows.num_elements() / K;
  for (int64_t r = 0; r < num_rows; ++r) {
    for (int64_t k = 0; k < K; k += kGroup) {
      const int64_t count = std::min(kGroup, K - k);
      Group<Bits> group = {};
      load_floats(rows, r * K + k, count, group.data());
      const float largest = extreme<Bits>(group);
      if (!std::isfinite(largest)) {
        return invalid("has a value that is not finite");
      }
      Group<Bits> integers = {};
      *scale++ = quantize_group(group, largest, integers);
      store_codes(integers, count, code);
      code += count * Bits / 8;
    }
  }
  return {};
}

}  // namespace

Result<void> check_quantizable(const TensorView& view, int32_t bits) {
  if (view.dtype != DType::kF32 && view.dtype != DType::kBF16 && view.dtype != DType::kF16) {
    return invalid("is " + std::string(dtype_name(view.dtype)) +
                   "; only float32, bfloat16 and float16 can be quantised");
  }
  if (view.shape.size() < 2 || view.num_elements() == 0) {
    return invalid("is not a matrix, so it cannot be quantised");
  }
  if (bits == 4 && view.shape.back() % 2 != 0) {
    return invalid("has " + std::to_string(view.shape.back()) +
                   " columns; 4 bits need an even number");
  }
  return {};
}

Result<void> quantize_rows(const TensorView& rows, int32_t bits, std::span<std::byte> codes,
                           std::span<BFloat16> scales) {
  if (Result<void> checked = check_quantizable(rows, bits); !checked) {
    return checked;
  }
  return bits == 8 ? quantize_all<8>(rows, codes.data(), scales.data())
                   : quantize_all<4>(rows, codes.data(), scales.data());
}

Result<QuantizedTensor> QuantizedTensor::make(const TensorView& view, int32_t bits,
                                              int32_t threads) {
  if (Result<void> checked = check_quantizable(view, bits); !checked) {
    return std::unexpected(checked.error());
  }
  QuantizedTensor tensor;
  const int64_t K = view.shape.back();
  const int64_t num_rows = view.num_elements() / K;
  TensorView rows = view;
  rows.shape = {num_rows, K};
  TensorView& out = tensor.view_;
  out.dtype = bits == 8 ? DType::kI8 : DType::kU8;
  out.shape = view.shape;
  out.quantization = {.bits = bits, .group_size = quantization_group(bits), .scales = nullptr};
  const int64_t groups = out.num_groups();
  tensor.codes_.resize(static_cast<size_t>(out.num_bytes()));
  tensor.scales_.resize(static_cast<size_t>(num_rows * groups));
  out.data = tensor.codes_.data();
  out.quantization.scales = reinterpret_cast<const std::byte*>(tensor.scales_.data());

  std::mutex mutex;
  std::optional<Error> error;
  {
    std::vector<std::jthread> workers;
    workers.reserve(static_cast<size_t>(threads));
    for (int32_t t = 0; t < threads; ++t) {
      workers.emplace_back([&, begin = num_rows * t / threads, end = num_rows * (t + 1) / threads] {
        if (begin == end) {
          return;
        }
        const auto row_bytes = K * bits / 8;
        Result<void> done =
            quantize_rows(rows.rows(begin, end), bits,
                          std::span(tensor.codes_).subspan(static_cast<size_t>(begin * row_bytes)),
                          std::span(tensor.scales_).subspan(static_cast<size_t>(begin * groups)));
        if (!done) {
          const std::scoped_lock lock(mutex);
          error = std::move(done.error());
        }
      });
    }
  }
  if (error) {
    return std::unexpected(std::move(*error));
  }
  return tensor;
}

}  // namespace deltaserve
