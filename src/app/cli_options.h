// Options that several commands share, named as vLLM names them.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "app/wiring.h"
#include "engine/engine.h"

namespace deltaserve {

struct ModelOptions {
  std::filesystem::path directory;
  std::string dtype = "auto";  // auto, float32, bfloat16
  std::string quantization;    // int8, int4 or as the checkpoint has it
  std::string backend = "auto";
  std::string cpu_isa;
  int32_t threads = 0;
  std::string numa = "auto";  // auto or off
  bool batch_invariant = false;
  std::string gdn_precision = "bf16";
};

// Adds MODEL, --dtype, --quantization, --backend, --threads, --numa, --cpu-isa, --batch-invariant
// and --gdn-precision.
void add_model_options(CLI::App& command, ModelOptions& options);

// Adds --max-model-len, --max-num-seqs, --max-num-batched-tokens, --max-queue-len,
// --kv-cache-memory-bytes, --memory-utilization and those of the prefix cache and of prefills.
void add_engine_options(CLI::App& command, EngineOptions& options);

// Resolves `dtype` ("auto" takes the checkpoint's own, which is bfloat16 in every release).
Result<BackendOptions> backend_options(const ModelOptions& options);

// "error: ..." on one line of stderr; returns the exit code of a failed command.
int report_failure(const Error& error);

// Bytes as "1.25 GiB".
std::string format_bytes(int64_t bytes);

}  // namespace deltaserve
