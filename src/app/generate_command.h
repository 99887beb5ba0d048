// `deltaserve generate`: continues a prompt as plain text, without a chat template.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/cli_options.h"

namespace deltaserve {

struct GenerateOptions {
  ModelOptions model;
  EngineOptions engine;
  std::string prompt;
  int64_t max_tokens = 128;
  std::optional<double> temperature;
  std::optional<uint64_t> seed;
  bool stream = false;
};

int run_generate(const GenerateOptions& options);

}  // namespace deltaserve
