// `deltaserve quantize`: a checkpoint with 8-bit or 4-bit weights, written once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "app/cli_options.h"

namespace deltaserve {

struct QuantizeCommandOptions {
  std::filesystem::path source;
  std::filesystem::path out;
  std::string to;
  bool keep_head = false;
  int64_t max_shard_bytes = int64_t{4} << 30;
  int32_t threads = 0;
};

// Adds MODEL, --to, --out, --keep-head, --max-shard-size and --threads.
void add_quantize_options(CLI::App& command, QuantizeCommandOptions& options);
int run_quantize(const QuantizeCommandOptions& options);

}  // namespace deltaserve
