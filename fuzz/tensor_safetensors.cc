// Any bytes as a safetensors file: no crash, and every accepted tensor lies inside the bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tensor/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const auto tensors = deltaserve::parse_safetensors(bytes);
  if (!tensors) {
    return 0;
  }
  for (const auto& [name, view] : *tensors) {
    const int64_t num_bytes = view.num_bytes();
    if (num_bytes < 0 || view.data < bytes.data() ||
        view.data + num_bytes > bytes.data() + bytes.size()) {
      std::abort();
    }
  }
  return 0;
}
