// `deltaserve verify`: a checkpoint's logits against recorded ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "app/cli_options.h"

namespace deltaserve {

struct VerifyCommandOptions {
  ModelOptions model;
  std::filesystem::path cases;
  std::optional<double> tolerance;  // default: by compute dtype
  std::string only;
  int32_t chunk = 0;
  bool packed = false;
  bool json = false;
};

// Adds CASES, --tolerance, --only, --chunk, --packed and --json.
void add_verify_options(CLI::App& command, VerifyCommandOptions& options);

// Exit code 0 if every case that was run is within the tolerance.
int run_verify(const VerifyCommandOptions& options);

}  // namespace deltaserve
