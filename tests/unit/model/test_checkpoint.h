// Small checkpoints on disk for tests: random weights for a given config, and ways to spoil them.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "json/json.h"
#include "tensor/tensor_view.h"

namespace deltaserve::test {

// Tensors by name with bytes of their own.
struct OwnedTensor {
  DType dtype = DType::kBF16;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};
using OwnedTensors = std::map<std::string, OwnedTensor>;

// A directory that is removed with this.
class TempDirectory {
 public:
  explicit TempDirectory(const std::string& name);
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Configs of 4 layers (three linear, one full) with H 32, V 96 and small heads.
json::Object dense_config();       // qwen3_5 wrapper with a vision_config
json::Object moe_config();         // qwen3_5_moe_text, fused experts
json::Object qwen3_next_config();  // qwen3_next, fused qkvz, split experts

// Random weights for the config as write_random_weights makes them, and those plus config.json as a
// checkpoint directory.
OwnedTensors random_weights(const json::Object& config);
void write_checkpoint(const std::filesystem::path& directory, const json::Object& config,
                      const OwnedTensors& tensors);

}  // namespace deltaserve::test
