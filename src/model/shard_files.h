// Names and JSON files of a checkpoint that is written in shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

inline constexpr const char* kShardIndexName = "model.safetensors.index.json";

// "model.safetensors" for a single one, else "model-00001-of-00003.safetensors".
std::string shard_name(size_t index, size_t count);

// The object that kShardIndexName holds; `weight_map` is tensor -> shard name.
json::Object shard_index(json::Object weight_map, int64_t num_bytes);

// Errors: the file cannot be written.
Result<void> write_json_file(const std::filesystem::path& path, const json::Value& value);

}  // namespace deltaserve
