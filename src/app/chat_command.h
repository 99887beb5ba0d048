// `deltaserve chat`: a conversation in the terminal, streamed, with the model's thinking dimmed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/cli_options.h"

namespace deltaserve {

struct ChatOptions {
  ModelOptions model;
  EngineOptions engine;
  std::string system;
  bool thinking = true;
  int64_t max_tokens = 0;  // 0: to the end of the context
  std::optional<double> temperature;
  std::optional<uint64_t> seed;
};

int run_chat(const ChatOptions& options);

}  // namespace deltaserve
