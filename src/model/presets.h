// The released sizes of the family as config.json objects, for checkpoints of random weights.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

struct PresetOptions {
  int32_t num_layers = 0;    // 0: as released; else the first so many
  bool with_vision = false;  // keep the vision tower where the release has one
};

// "qwen3.5-0.8b", ...
std::vector<std::string> preset_names();

// The config of a preset. Errors: an unknown name, with the known ones; more layers than it has;
// vision asked of a text-only release.
Result<json::Object> preset_config(std::string_view name, const PresetOptions& options);

}  // namespace deltaserve
