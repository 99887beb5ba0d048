// Everything that a checkpoint directory gives to a command: weights on a backend, tokenizer, chat
// template, generation defaults. Members are destroyed in the reverse of the order they depend in.
#pragma once

#include <memory>
#include <vector>

#include "app/cli_options.h"
#include "base/error.h"
#include "chat/chat_template.h"
#include "model/config.h"
#include "model/model.h"
#include "model/presets.h"
#include "ops/backend.h"
#include "tensor/checkpoint.h"
#include "text/tokenizer.h"

namespace deltaserve {

struct LoadedModel {
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;  // null if the checkpoint has none
  GenerationConfig generation;
  std::vector<int32_t> eos_token_ids;  // of generation_config, config and the chat's own end token
};

// Loads all of it, with a progress bar on a terminal. Errors name the file, key or tensor.
Result<LoadedModel> load_model_directory(const ModelOptions& options);

// Only the weights on a backend, for commands that work on token ids.
Result<LoadedModel> load_weights(const ModelOptions& options);

// The same with random weights in the shape of a preset, whose name stands for the directory.
Result<LoadedModel> load_random_weights(const ModelOptions& options, const PresetOptions& shape);

}  // namespace deltaserve
