// `deltaserve render`: the prompt that a chat request becomes, for people who debug templates.
#pragma once

#include <filesystem>

namespace deltaserve {

struct RenderOptions {
  std::filesystem::path directory;
  bool json = false;
};

// Reads the request from standard input.
int run_render(const RenderOptions& options);

}  // namespace deltaserve
