// Plans shards, then lets threads fill pieces of tensors and write them in place.
#include "model/random_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "json/json.h"
#include "model/random_tensor.h"
#include "model/shard_files.h"
#include "model/synthetic_tokenizer.h"
#include "tensor/safetensors_writer.h"

namespace deltaserve {

namespace {

int64_t tensor_bytes(const RandomTensor& tensor) {
  return tensor.num_elements() * dtype_size(tensor.dtype);
}

// Tensors in order, as many a shard as fit; a larger one has a shard of its own.
std::vector<std::vector<RandomTensor>> plan_shards(std::vector<RandomTensor> tensors,
                                                   int64_t max_bytes) {
  std::vector<std::vector<RandomTensor>> shards;
  int64_t used = 0;
  for (RandomTensor& tensor : tensors) {
    const int64_t bytes = tensor_bytes(tensor);
    if (shards.empty() || used + bytes > max_bytes) {
      shards.emplace_back();
      used = 0;
    }
    used += bytes;
    shards.back().push_back(std::move(tensor));
  }
  return shards;
}

// Fills one shard with every thread. Pieces are claimed in order, so writes are mostly sequential.
class ShardFiller {
 public:
  ShardFiller(const std::vector<RandomTensor>& tensors, SafetensorsWriter& writer, uint64_t seed)
      : tensors_(tensors), writer_(writer), seed_(seed) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      for (int64_t piece = 0; piece * kRandomPiece < tensors[i].num_elements(); ++piece) {
        pieces_.emplace_back(i, piece);
      }
    }
  }

  // `on_bytes` is called with a lock held.
  Result<void> run(int32_t threads, const std::function<void(int64_t)>& on_bytes) {
    std::vector<std::jthread> workers;
    workers.reserve(static_cast<size_t>(threads));
    for (int32_t i = 0; i < threads; ++i) {
      workers.emplace_back([&] { work(on_bytes); });
    }
    workers.clear();
    if (error_) {
      return std::unexpected(*error_);
    }
    return {};
  }

 private:
  void work(const std::function<void(int64_t)>& on_bytes) {
    std::vector<std::byte> buffer;
    for (;;) {
      const size_t claimed = next_.fetch_add(1);
      if (claimed >= pieces_.size()) {
        return;
      }
      const auto [index, piece] = pieces_[claimed];
      const RandomTensor& tensor = tensors_[index];
      const int64_t first = piece * kRandomPiece;
      const int64_t count = std::min(kRandomPiece, tensor.num_elements() - first);
      const int64_t size = dtype_size(tensor.dtype);
      buffer.resize(static_cast<size_t>(count * size));
      fill_random(tensor, seed_, piece, buffer);
      Result<void> wrote = writer_.write(index, first * size, buffer);
      const std::scoped_lock lock(mutex_);
      if (!wrote) {
        error_ = std::move(wrote.error());
        next_ = pieces_.size();
        return;
      }
      on_bytes(count * size);
    }
  }

  const std::vector<RandomTensor>& tensors_;
  SafetensorsWriter& writer_;
  uint64_t seed_;
  std::vector<std::pair<size_t, int64_t>> pieces_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::optional<Error> error_;
};

Result<void> prepare_directory(const std::filesystem::path& directory, int64_t num_bytes) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return invalid(fmt::format("{}: cannot be made: {}", directory.string(), error.message()));
  }
  for (const char* file : {"config.json", "model.safetensors", "model.safetensors.index.json"}) {
    if (std::filesystem::exists(directory / file, error)) {
      return invalid(fmt::format("{} already holds {}: remove it or choose another directory",
                                 directory.string(), file));
    }
  }
  const std::filesystem::space_info space = std::filesystem::space(directory, error);
  if (!error && space.available < static_cast<uintmax_t>(num_bytes)) {
    return invalid(fmt::format("{} has room for {} MiB; the checkpoint needs {} MiB",
                               directory.string(), space.available >> 20, num_bytes >> 20));
  }
  return {};
}

Result<void> write_shards(const RandomWeightsOptions& options,
                          const std::vector<std::vector<RandomTensor>>& shards,
                          const std::function<void(int64_t)>& on_bytes) {
  const auto available = static_cast<int32_t>(std::thread::hardware_concurrency());
  const int32_t threads = options.threads > 0 ? options.threads : std::max(1, available);
  for (size_t i = 0; i < shards.size(); ++i) {
    std::vector<TensorSpec> specs;
    for (const RandomTensor& tensor : shards[i]) {
      specs.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape});
    }
    auto writer =
        SafetensorsWriter::create(options.directory / shard_name(i, shards.size()), specs);
    if (!writer) {
      return std::unexpected(std::move(writer.error()));
    }
    ShardFiller filler(shards[i], **writer, options.seed);
    if (Result<void> filled = filler.run(threads, on_bytes); !filled) {
      return filled;
    }
    if (Result<void> finished = (*writer)->finish(); !finished) {
      return finished;
    }
  }
  return {};
}

json::Object weight_map(const std::vector<std::vector<RandomTensor>>& shards) {
  json::Object map;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (const RandomTensor& tensor : shards[i]) {
      map[tensor.name] = shard_name(i, shards.size());
    }
  }
  return map;
}

}  // namespace

Result<RandomWeightsSummary> write_random_weights(const json::Object& config,
                                                  const RandomWeightsOptions& options,
                                                  const ProgressCallback& on_progress) {
  const Result<ModelConfig> parsed = parse_model_config(config);
  if (!parsed) {
    return std::unexpected(parsed.error());
  }
  RandomWeightsSummary summary;
  std::vector<RandomTensor> tensors = random_tensors(*parsed);
  for (const RandomTensor& tensor : tensors) {
    summary.num_parameters += tensor.num_elements();
    summary.num_bytes += tensor_bytes(tensor);
  }
  if (Result<void> ready = prepare_directory(options.directory, summary.num_bytes); !ready) {
    return std::unexpected(std::move(ready.error()));
  }
  const auto shards = plan_shards(std::move(tensors), options.max_shard_bytes);
  summary.num_files = static_cast<int32_t>(shards.size());
  int64_t done = 0;
  const auto on_bytes = [&](int64_t bytes) {
    done += bytes;
    if (on_progress) {
      on_progress(done, summary.num_bytes);
    }
  };
  if (Result<void> wrote = write_shards(options, shards, on_bytes); !wrote) {
    return std::unexpected(std::move(wrote.error()));
  }
  if (shards.size() > 1) {
    Result<void> wrote = write_json_file(options.directory / kShardIndexName,
                                         shard_index(weight_map(shards), summary.num_bytes));
    if (!wrote) {
      return std::unexpected(std::move(wrote.error()));
    }
  }
  if (Result<void> wrote = write_json_file(options.directory / "config.json", config); !wrote) {
    return std::unexpected(std::move(wrote.error()));
  }
  return summary;
}

Result<RandomWeightsSummary> write_preset(std::string_view preset, const PresetOptions& shape,
                                          const RandomWeightsOptions& options,
                                          const ProgressCallback& on_progress) {
  const Result<json::Object> config = preset_config(preset, shape);
  if (!config) {
    return std::unexpected(config.error());
  }
  const Result<ModelConfig> parsed = parse_model_config(*config);
  if (!parsed) {
    return std::unexpected(parsed.error());
  }
  if (Result<void> ready = prepare_directory(options.directory, 0); !ready) {
    return std::unexpected(std::move(ready.error()));
  }
  if (Result<void> wrote = write_synthetic_tokenizer(*parsed, options.directory); !wrote) {
    return std::unexpected(std::move(wrote.error()));
  }
  return write_random_weights(*config, options, on_progress);
}

}  // namespace deltaserve
