// Reading a view's elements as float32. Bytes go through memcpy: a file promises no alignment.
#include "tensor/tensor_view.h"

#include <cstring>
#include <string>

#include "base/check.h"

namespace deltaserve {

namespace {

template <typename T, typename Convert>
std::vector<float> convert_all(const TensorView& view, Convert convert) {
  std::vector<float> values(static_cast<size_t>(view.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    T element{};
    std::memcpy(&element, view.data + i * sizeof(T), sizeof(T));
    values[i] = convert(element);
  }
  return values;
}

std::vector<float> dequantize(const TensorView& view) {
  const Quantization& quantization = view.quantization;
  const int64_t K = view.shape.back();
  const int64_t groups = view.num_groups();
  std::vector<float> values(static_cast<size_t>(view.num_elements()));
  for (int64_t i = 0; i < view.num_elements(); ++i) {
    BFloat16 scale;
    const int64_t group = i / K * groups + i % K / quantization.group_size;
    std::memcpy(&scale, quantization.scales + group * 2, sizeof(scale));
    values[static_cast<size_t>(i)] =
        to_float(scale) * static_cast<float>(quantized_element(view, i));
  }
  return values;
}

}  // namespace

int32_t quantized_element(const TensorView& view, int64_t index) {
  if (view.quantization.bits == 8) {
    return static_cast<int8_t>(view.data[index]);
  }
  const auto both = static_cast<int32_t>(view.data[index / 2]);
  return (index % 2 == 0 ? both & 15 : both >> 4) - 8;
}

std::vector<float> to_float_vector(const TensorView& view) {
  if (view.is_quantized()) {
    return dequantize(view);
  }
  switch (view.dtype) {
    case DType::kF32:
      return convert_all<float>(view, [](float value) { return value; });
    case DType::kBF16:
      return convert_all<BFloat16>(view, [](BFloat16 value) { return to_float(value); });
    case DType::kF16:
      return convert_all<uint16_t>(view, [](uint16_t bits) { return half_to_float(bits); });
    default:
      break;
  }
  DS_CHECK(false, "not a float type: " + std::string(dtype_name(view.dtype)));
  return {};
}

}  // namespace deltaserve
