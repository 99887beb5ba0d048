// One .safetensors file: mapped read-only, header parsed and checked against the file's size before
// any tensor is looked at. A malformed header is an error, never a crash.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tensor/tensor_view.h"

namespace deltaserve {

// The header of safetensors bytes: name -> view into `bytes`. Checks bounds, overlap, holes, dtype,
// shape and alignment of every tensor; errors name the tensor.
Result<std::map<std::string, TensorView, std::less<>>> parse_safetensors(
    std::span<const std::byte> bytes);

class SafetensorsFile {
 public:
  static Result<std::unique_ptr<SafetensorsFile>> open(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::map<std::string, TensorView, std::less<>>& tensors() const { return tensors_; }
  const TensorView* find(std::string_view name) const;

 private:
  SafetensorsFile() = default;
  void* mapping_ = nullptr;
  size_t size_ = 0;
  std::map<std::string, TensorView, std::less<>> tensors_;
};

// Tells the kernel that the mapped pages wholly inside the view are not needed any more. The view
// stays valid (a later read loads them again); only for views of mapped files.
void drop_mapped_pages(const TensorView& view);

}  // namespace deltaserve
