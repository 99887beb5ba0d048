// Flags about images and videos, and what they and a checkpoint make of them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "api/prompt_media.h"
#include "model/config.h"
#include "text/tokenizer.h"

namespace deltaserve {

struct MediaFlags {
  // As vLLM's: {"image": 5, "video": 1}, or image=5,video=1. An agent's long session has dozens of
  // screenshots; a video is worth as many tokens as all of them.
  std::string limit_per_prompt = R"({"image": 100, "video": 4})";
  std::vector<std::string> allowed_domains;  // none: images and videos come in requests only
  ImageLimits limits;
  VideoLimits video_limits;
  double video_seconds = 30.0;         // see VideoLimits::timeout
  std::string video_wrapper = "keep";  // see VideoWording::keeps_wrapper
  ImageMemory memory;
};

void add_media_options(CLI::App& command, MediaFlags& flags);

// Null for a checkpoint that takes text only. Errors name the flag or the checkpoint's file.
Result<std::shared_ptr<const MediaInput>> make_media_input(const MediaFlags& flags,
                                                           const std::filesystem::path& directory,
                                                           const ModelConfig& config,
                                                           const Tokenizer& tokenizer);

}  // namespace deltaserve
