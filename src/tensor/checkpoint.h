// A checkpoint directory as downloaded from a hub: config.json, and the weights as
// model.safetensors or as shards under model.safetensors.index.json. Files stay mapped while this
// lives.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/json.h"
#include "tensor/safetensors.h"

namespace deltaserve {

class Checkpoint {
 public:
  // Opens config.json and the weight files. Errors name the file, the shard that is missing or
  // truncated, or the tensor that stands in two shards or in none.
  static Result<std::unique_ptr<Checkpoint>> open(const std::filesystem::path& directory);

  // One that is nowhere on disk: `tensors` lie in memory that `owner` keeps.
  static std::unique_ptr<Checkpoint> in_memory(
      json::Object config, std::map<std::string, TensorView, std::less<>> tensors,
      std::shared_ptr<const void> owner);

  const std::filesystem::path& directory() const { return directory_; }
  const json::Object& config() const { return config_; }
  const TensorView* find(std::string_view name) const;
  std::vector<std::string> names() const;  // sorted
  int64_t total_bytes() const;             // of all tensors

  // A further JSON file of the directory (generation_config.json, ...); null if it does not exist.
  Result<json::Value> read_json(std::string_view file_name) const;

 private:
  Checkpoint() = default;
  Result<void> open_single();
  Result<void> open_sharded();

  std::filesystem::path directory_;
  json::Object config_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::shared_ptr<const void> owner_;  // of tensors that are in no file
  std::map<std::string, TensorView, std::less<>> tensors_;
};

}  // namespace deltaserve
