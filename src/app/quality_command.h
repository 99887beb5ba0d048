// `deltaserve quality`: what quantisation costs a model, over a text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/cli_options.h"

namespace deltaserve {

struct QualityOptions {
  ModelOptions model;
  std::filesystem::path text;
  std::vector<std::string> against = {"int8", "int4"};
  int32_t window = 512;
  bool json = false;
};

// Adds --text, --against, --window and --json.
void add_quality_options(CLI::App& command, QualityOptions& options);

// Prints KL divergence, agreement and likelihoods of every model compared with MODEL.
int run_quality(const QualityOptions& options);

}  // namespace deltaserve
