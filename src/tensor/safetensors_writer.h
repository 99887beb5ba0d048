// Writes a .safetensors file without holding it: the header comes first from the tensors' shapes,
// then any thread puts bytes at their place. The file appears under its name only when complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/tensor_view.h"

namespace deltaserve {

struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
};

class SafetensorsWriter {
 public:
  // Creates PATH.partial with the header. Tensors lie in the order given, wider element types
  // first, so that all of them are aligned. Errors: the path cannot be written.
  static Result<std::unique_ptr<SafetensorsWriter>> create(const std::filesystem::path& path,
                                                           const std::vector<TensorSpec>& tensors);
  ~SafetensorsWriter();  // removes PATH.partial unless finish() succeeded
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  // Puts `bytes` at `offset` within tensor `index` (of the list given to create). Thread-safe.
  Result<void> write(size_t index, int64_t offset, std::span<const std::byte> bytes);

  // Renames to PATH. Errors: the disk is full, the rename fails.
  Result<void> finish();

 private:
  SafetensorsWriter() = default;
  std::filesystem::path path_;
  std::filesystem::path partial_;
  int fd_ = -1;
  std::vector<int64_t> begin_;  // absolute file offset of each tensor
  std::vector<int64_t> size_;
};

// Writes whole tensors. Errors: the path cannot be written, the disk is full.
Result<void> write_safetensors(const std::filesystem::path& path,
                               const std::vector<std::pair<std::string, TensorView>>& tensors);

}  // namespace deltaserve
