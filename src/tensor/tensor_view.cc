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

}  // namespace

std::vector<float> to_float_vector(const TensorView& view) {
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
