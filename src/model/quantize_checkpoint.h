// Writes a quantised copy of a checkpoint directory, tensor by tensor: memory stays at a few MiB a
// thread whatever the model's size. docs/quantization.md has the layout.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/error.h"
#include "model/model.h"
#include "model/quantization.h"
#include "tensor/checkpoint.h"

namespace deltaserve {

struct QuantizeOptions {
  std::filesystem::path directory;  // must not exist yet
  QuantizationConfig quantization;
  int64_t max_shard_bytes = int64_t{4} << 30;
  int32_t threads = 0;  // 0: the machine's
};

struct QuantizeSummary {
  int64_t num_quantized = 0;  // tensors
  int64_t num_kept = 0;
  int64_t source_bytes = 0;
  int64_t num_bytes = 0;
};

// Fills DIRECTORY.partial and renames it, so that an interrupted run leaves nothing that loads.
// Copied as they are: the tensors that stay, and every file that is neither weights nor
// config.json. Errors: a model that is not supported or quantised already, a tensor that cannot be
// quantised (its name is given), a directory in use, a full disk.
Result<QuantizeSummary> quantize_checkpoint(const Checkpoint& source,
                                            const QuantizeOptions& options,
                                            const ProgressCallback& on_progress = {});

}  // namespace deltaserve
