// Lets threads fill pieces of the planned tensors in place, and puts the other files beside them.
#include "model/quantize_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "model/checkpoint_config.h"
#include "model/config.h"
#include "model/quantize_plan.h"
#include "model/shard_files.h"
#include "tensor/quantize.h"
#include "tensor/safetensors_writer.h"

namespace deltaserve {

namespace {

// Elements that a thread reads, quantises and writes at a time: 4 MiB of bfloat16.
constexpr int64_t kPieceElements = int64_t{2} << 20;

// Rows [begin, end) of a conversion, whose outputs start at `output` in the writer's list.
struct Piece {
  const Conversion* conversion = nullptr;
  size_t output = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

std::vector<Piece> cut_pieces(const std::vector<Conversion>& conversions) {
  std::vector<Piece> pieces;
  size_t output = 0;
  for (const Conversion& conversion : conversions) {
    const int64_t step =
        std::max<int64_t>(1, kPieceElements / std::max<int64_t>(1, conversion.columns()));
    for (int64_t row = 0; row < conversion.rows(); row += step) {
      pieces.push_back({&conversion, output, row, std::min(row + step, conversion.rows())});
    }
    output += conversion.outputs().size();
  }
  return pieces;
}

Result<void> write_piece(const Piece& piece, SafetensorsWriter& writer) {
  const Conversion& conversion = *piece.conversion;
  TensorView rows = conversion.source;
  rows.shape = {conversion.rows(), conversion.columns()};
  rows = rows.rows(piece.begin, piece.end);
  if (conversion.bits == 0) {
    const auto size = static_cast<size_t>(rows.num_bytes());
    const int64_t offset = piece.begin * conversion.columns() * dtype_size(rows.dtype);
    return writer.write(piece.output, offset, {rows.data, size});
  }
  const int64_t count = piece.end - piece.begin;
  const int64_t row_bytes = conversion.columns() * conversion.bits / 8;
  std::vector<std::byte> codes(static_cast<size_t>(count * row_bytes));
  std::vector<BFloat16> scales(static_cast<size_t>(count * conversion.groups()));
  Result<void> done = quantize_rows(rows, conversion.bits, codes, scales);
  if (!done) {
    return invalid(fmt::format("tensor \"{}\" {}", conversion.name, done.error().message),
                   conversion.name);
  }
  drop_mapped_pages(rows);
  done = writer.write(piece.output, piece.begin * row_bytes, codes);
  return !done ? done
               : writer.write(piece.output + 1, piece.begin * conversion.groups() * 2,
                              std::as_bytes(std::span(scales)));
}

// Every piece of a shard by `threads` threads; the first error ends it.
Result<void> write_pieces(const std::vector<Piece>& pieces, SafetensorsWriter& writer,
                          int32_t threads, const std::function<void(int64_t)>& on_elements) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::optional<Error> error;
  const auto work = [&] {
    for (size_t i = next.fetch_add(1); i < pieces.size(); i = next.fetch_add(1)) {
      Result<void> wrote = write_piece(pieces[i], writer);
      const std::scoped_lock lock(mutex);
      if (!wrote) {
        if (!error) {
          error = std::move(wrote.error());
        }
        next = pieces.size();
        return;
      }
      on_elements((pieces[i].end - pieces[i].begin) * pieces[i].conversion->columns());
    }
  };
  {
    std::vector<std::jthread> workers;
    workers.reserve(static_cast<size_t>(threads));
    for (int32_t t = 0; t < threads; ++t) {
      workers.emplace_back(work);
    }
  }
  if (error) {
    return std::unexpected(std::move(*error));
  }
  return {};
}

// What lies beside weights and config.json: tokenizer, chat template, generation defaults.
Result<void> copy_other_files(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(from, error)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file(error) || name == "config.json" || name == kShardIndexName ||
        entry.path().extension() == ".safetensors") {
      continue;
    }
    std::filesystem::copy_file(entry.path(), to / name, error);
    if (error) {
      break;
    }
  }
  if (error) {
    return fail(ErrorCode::kInternal, fmt::format("{}: files cannot be copied to {}: {}",
                                                  from.string(), to.string(), error.message()));
  }
  return {};
}

class CheckpointWriter {
 public:
  CheckpointWriter(const Checkpoint& source, const QuantizeOptions& options,
                   const ProgressCallback& on_progress)
      : source_(source),
        options_(options),
        on_progress_(on_progress),
        partial_(options.directory.string() + ".partial") {}
  ~CheckpointWriter() {
    if (made_) {
      std::error_code ignored;
      std::filesystem::remove_all(partial_, ignored);
    }
  }
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  Result<QuantizeSummary> run();

 private:
  Result<void> make_directory();
  Result<void> write_shards(const std::vector<std::vector<Conversion>>& shards);
  Result<void> write_rest(const std::vector<std::vector<Conversion>>& shards);
  Result<void> publish();

  const Checkpoint& source_;
  const QuantizeOptions& options_;
  const ProgressCallback& on_progress_;
  const std::filesystem::path partial_;
  QuantizeSummary summary_;
  bool made_ = false;
};

Result<void> CheckpointWriter::make_directory() {
  std::error_code error;
  for (const std::filesystem::path& path : {options_.directory, partial_}) {
    if (std::filesystem::exists(path, error)) {
      return invalid(fmt::format("{} exists: remove it or choose another directory", path.string()),
                     "out");
    }
  }
  std::filesystem::create_directories(partial_, error);
  if (error) {
    return invalid(fmt::format("{}: cannot be made: {}", partial_.string(), error.message()),
                   "out");
  }
  made_ = true;
  const std::filesystem::space_info space = std::filesystem::space(partial_, error);
  if (!error && space.available < static_cast<uintmax_t>(summary_.num_bytes)) {
    return invalid(fmt::format("{} has room for {} MiB; the checkpoint needs {} MiB",
                               options_.directory.string(), space.available >> 20,
                               summary_.num_bytes >> 20));
  }
  return {};
}

Result<void> CheckpointWriter::write_shards(const std::vector<std::vector<Conversion>>& shards) {
  const auto available = static_cast<int32_t>(std::thread::hardware_concurrency());
  const int32_t threads = options_.threads > 0 ? options_.threads : std::max(1, available);
  int64_t total = 0;
  for (const auto& shard : shards) {
    for (const Conversion& conversion : shard) {
      total += conversion.source.num_elements();
    }
  }
  int64_t done = 0;
  const auto on_elements = [&](int64_t count) {
    done += count;
    if (on_progress_) {
      on_progress_(done, total);
    }
  };
  for (size_t i = 0; i < shards.size(); ++i) {
    std::vector<TensorSpec> specs;
    for (const Conversion& conversion : shards[i]) {
      std::ranges::move(conversion.outputs(), std::back_inserter(specs));
    }
    auto writer = SafetensorsWriter::create(partial_ / shard_name(i, shards.size()), specs);
    if (!writer) {
      return std::unexpected(std::move(writer.error()));
    }
    Result<void> wrote = write_pieces(cut_pieces(shards[i]), **writer, threads, on_elements);
    if (wrote) {
      wrote = (*writer)->finish();
    }
    if (!wrote) {
      return wrote;
    }
  }
  return {};
}

Result<void> CheckpointWriter::write_rest(const std::vector<std::vector<Conversion>>& shards) {
  if (shards.size() > 1) {
    json::Object weight_map;
    for (size_t i = 0; i < shards.size(); ++i) {
      for (const Conversion& conversion : shards[i]) {
        for (const TensorSpec& spec : conversion.outputs()) {
          weight_map[spec.name] = shard_name(i, shards.size());
        }
      }
    }
    Result<void> wrote = write_json_file(partial_ / kShardIndexName,
                                         shard_index(std::move(weight_map), summary_.num_bytes));
    if (!wrote) {
      return wrote;
    }
  }
  if (Result<void> copied = copy_other_files(source_.directory(), partial_); !copied) {
    return copied;
  }
  json::Object config = source_.config();
  config["quantization_config"] = quantization_json(options_.quantization);
  return write_json_file(partial_ / "config.json", config);
}

Result<void> CheckpointWriter::publish() {
  std::error_code error;
  std::filesystem::rename(partial_, options_.directory, error);
  if (error) {
    return fail(ErrorCode::kInternal,
                fmt::format("{}: cannot be renamed to {}: {}", partial_.string(),
                            options_.directory.string(), error.message()));
  }
  made_ = false;
  return {};
}

Result<QuantizeSummary> CheckpointWriter::run() {
  const Result<ModelConfig> config = read_model_config(source_);
  if (!config) {
    return std::unexpected(config.error());
  }
  if (config->quantization) {
    return invalid(fmt::format("{} is quantised to {} already", source_.directory().string(),
                               quantization_name(*config->quantization)));
  }
  Result<std::vector<Conversion>> conversions =
      plan_conversions(source_, *config, options_.quantization);
  if (!conversions) {
    return std::unexpected(std::move(conversions.error()));
  }
  for (const Conversion& conversion : *conversions) {
    ++(conversion.bits == 0 ? summary_.num_kept : summary_.num_quantized);
    summary_.num_bytes += conversion.output_bytes();
  }
  summary_.source_bytes = source_.total_bytes();
  const auto shards = plan_quantized_shards(std::move(*conversions), options_.max_shard_bytes);
  Result<void> done = make_directory();
  if (done) {
    done = write_shards(shards);
  }
  if (done) {
    done = write_rest(shards);
  }
  if (done) {
    done = publish();
  }
  if (!done) {
    return std::unexpected(std::move(done.error()));
  }
  return summary_;
}

}  // namespace

Result<QuantizeSummary> quantize_checkpoint(const Checkpoint& source,
                                            const QuantizeOptions& options,
                                            const ProgressCallback& on_progress) {
  return CheckpointWriter(source, options, on_progress).run();
}

}  // namespace deltaserve
