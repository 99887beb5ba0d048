// Opening a checkpoint directory: which files hold the weights, and that index and shards agree.
#include "tensor/checkpoint.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/read_file.h"
#include "tensor/checkpoint_json.h"

namespace deltaserve {

namespace {

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";

// The index of the largest release names about 150,000 tensors in 20 MB.
constexpr size_t kMaxJsonBytes = size_t{256} << 20;

std::unexpected<Error> file_error(const std::filesystem::path& path, std::string_view what,
                                  ErrorCode code = ErrorCode::kInvalidArgument) {
  return fail(code, fmt::format("{}: {}", path.string(), what), path.filename().string());
}

Result<json::Value> read_json_file(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path, kMaxJsonBytes);
  if (!text) {
    return std::unexpected(text.error());
  }
  Result<json::Value> value = json::parse(*text, {.max_depth = 64, .max_bytes = kMaxJsonBytes});
  if (!value) {
    return file_error(path, value.error().message);
  }
  return value;
}

Result<json::Object> read_object_file(const std::filesystem::path& path) {
  Result<json::Value> value = read_json_file(path);
  if (!value) {
    return std::unexpected(std::move(value.error()));
  }
  if (!value->is_object()) {
    return file_error(path, "not a JSON object");
  }
  return std::move(value->get_object());
}

// Why what is not a directory cannot be opened.
std::unexpected<Error> not_a_directory(const std::filesystem::path& path) {
  if (!has_file(path)) {
    return file_error(path, "no such directory", ErrorCode::kNotFound);
  }
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return file_error(path, error ? error.message() : "a link that leads nowhere");
  }
  return file_error(path,
                    fmt::format("{}; name the directory that holds config.json and the "
                                "weights as safetensors",
                                path.extension() == ".gguf" ? "GGUF files are not supported"
                                                            : "this is a file, not a checkpoint"));
}

// tensor -> shard file name. Shards are plain names: an index cannot point outside its directory.
Result<std::map<std::string, std::string, std::less<>>> read_index(
    const std::filesystem::path& path) {
  const Result<json::Object> index = read_object_file(path);
  if (!index) {
    return std::unexpected(index.error());
  }
  const json::Value* weight_map = index->if_contains("weight_map");
  if (weight_map == nullptr || !weight_map->is_object() || weight_map->get_object().empty()) {
    return file_error(path, "no weight_map object");
  }
  std::map<std::string, std::string, std::less<>> shards;
  for (const auto& [name, value] : weight_map->get_object()) {
    const std::string shard = value.is_string() ? std::string(value.get_string()) : std::string();
    if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos ||
        shard.find('\0') != std::string::npos) {
      return file_error(path, fmt::format("the shard of tensor \"{}\" is not a file name",
                                          std::string_view(name)));
    }
    shards.emplace(std::string(name), shard);
  }
  return shards;
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> Checkpoint::open(const std::filesystem::path& directory) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored)) {
    return not_a_directory(directory);
  }
  std::unique_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->directory_ = directory;
  Result<json::Object> config = read_object_file(directory / "config.json");
  if (!config) {
    return std::unexpected(std::move(config.error()));
  }
  checkpoint->config_ = std::move(*config);

  const bool sharded = !has_file(directory / kSingle);
  if (sharded && !has_file(directory / kIndex)) {
    return file_error(directory, "neither model.safetensors nor model.safetensors.index.json",
                      ErrorCode::kNotFound);
  }
  Result<void> opened = sharded ? checkpoint->open_sharded() : checkpoint->open_single();
  if (!opened) {
    return std::unexpected(std::move(opened.error()));
  }
  return checkpoint;
}

std::unique_ptr<Checkpoint> Checkpoint::in_memory(
    json::Object config, std::map<std::string, TensorView, std::less<>> tensors,
    std::shared_ptr<const void> owner) {
  std::unique_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->config_ = std::move(config);
  checkpoint->tensors_ = std::move(tensors);
  checkpoint->owner_ = std::move(owner);
  return checkpoint;
}

Result<void> Checkpoint::open_single() {
  Result<std::unique_ptr<SafetensorsFile>> file = SafetensorsFile::open(directory_ / kSingle);
  if (!file) {
    return std::unexpected(std::move(file.error()));
  }
  tensors_ = (*file)->tensors();
  files_.push_back(std::move(*file));
  return {};
}

Result<void> Checkpoint::open_sharded() {
  const std::filesystem::path index_path = directory_ / kIndex;
  const auto index = read_index(index_path);
  if (!index) {
    return std::unexpected(index.error());
  }
  std::set<std::string, std::less<>> shards;
  for (const auto& [name, shard] : *index) {
    shards.insert(shard);
  }
  for (const std::string& shard : shards) {
    const std::filesystem::path path = directory_ / shard;
    if (!has_file(path)) {
      return file_error(path, "this shard is missing; download it again", ErrorCode::kNotFound);
    }
    Result<std::unique_ptr<SafetensorsFile>> file = SafetensorsFile::open(path);
    if (!file) {
      return std::unexpected(std::move(file.error()));
    }
    for (const auto& [name, view] : (*file)->tensors()) {
      const auto listed = index->find(name);
      if (listed == index->end() || listed->second != shard) {
        return file_error(path,
                          fmt::format("holds tensor \"{}\", which {} says is in {}", name, kIndex,
                                      listed == index->end() ? "no shard" : listed->second));
      }
      tensors_.emplace(name, view);
    }
    files_.push_back(std::move(*file));
  }
  for (const auto& [name, shard] : *index) {
    if (!tensors_.contains(name)) {
      return file_error(directory_ / shard, fmt::format("tensor \"{}\" is not in it although {} "
                                                        "says so",
                                                        name, kIndex));
    }
  }
  return {};
}

const TensorView* Checkpoint::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> names;
  names.reserve(tensors_.size());
  for (const auto& [name, view] : tensors_) {
    names.push_back(name);
  }
  return names;
}

int64_t Checkpoint::total_bytes() const {
  int64_t bytes = 0;
  for (const auto& [name, view] : tensors_) {
    bytes += view.num_bytes();
  }
  return bytes;
}

Result<json::Value> Checkpoint::read_json(std::string_view file_name) const {
  return read_checkpoint_json(directory_, file_name);
}

Result<json::Value> read_checkpoint_json(const std::filesystem::path& directory,
                                         std::string_view file_name) {
  const std::filesystem::path path = directory / file_name;
  if (!has_file(path)) {
    return json::Value(nullptr);
  }
  return read_json_file(path);
}

}  // namespace deltaserve
