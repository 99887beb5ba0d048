// Flags about images, and what they and a checkpoint make of them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/prompt_images.h"
#include "app/loaded_model.h"

namespace deltaserve {

struct ImageFlags {
  // As vLLM's: {"image": 5}, or image=5. An agent's long session has dozens of screenshots.
  std::string limit_per_prompt = R"({"image": 100})";
  std::vector<std::string> allowed_domains;  // none: images come in requests only
  ImageLimits limits;
  ImageMemory memory;
};

void add_image_options(CLI::App& command, ImageFlags& flags);

// Null for a checkpoint that takes text only. Errors name the flag or the checkpoint's file.
Result<std::shared_ptr<const ImageInput>> make_image_input(const ImageFlags& flags,
                                                           const LoadedModel& loaded);

}  // namespace deltaserve
