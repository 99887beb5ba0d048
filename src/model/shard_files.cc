// Names as the hub's own tools choose them.
#include "model/shard_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace deltaserve {

std::string shard_name(size_t index, size_t count) {
  return count == 1 ? "model.safetensors"
                    : fmt::format("model-{:05}-of-{:05}.safetensors", index + 1, count);
}

json::Object shard_index(json::Object weight_map, int64_t num_bytes) {
  return {{"metadata", json::Object{{"total_size", num_bytes}}},
          {"weight_map", std::move(weight_map)}};
}

Result<void> write_json_file(const std::filesystem::path& path, const json::Value& value) {
  std::ofstream stream(path, std::ios::binary);
  stream << json::dumps(value, 2) << '\n';
  stream.close();
  if (!stream) {
    return fail(ErrorCode::kInternal,
                fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
  }
  return {};
}

}  // namespace deltaserve
