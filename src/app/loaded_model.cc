// Loading of a checkpoint directory, part by part.
#include "app/loaded_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/progress_bar.h"
#include "json/json.h"
#include "model/random_in_memory.h"

namespace deltaserve {

namespace {

// Some checkpoints list only <|endoftext|>; a chat turn always ends with <|im_end|> as well.
constexpr std::string_view kChatEndTokens[] = {"<|im_end|>", "<|endoftext|>"};

void add_unique(std::vector<int32_t>& ids, int32_t id) {
  if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
}

Result<void> load_text(LoadedModel& loaded) {
  const auto& directory = loaded.checkpoint->directory();
  auto tokenizer = Tokenizer::load(directory);
  if (!tokenizer) return std::unexpected(tokenizer.error());
  loaded.tokenizer = std::move(*tokenizer);
  const int32_t vocab_size = loaded.model->config().vocab_size;
  if (loaded.tokenizer->vocab_size() > vocab_size) {
    return invalid(fmt::format("{}: the tokenizer's ids go up to {}, but vocab_size of config.json "
                               "is {}",
                               directory.string(), loaded.tokenizer->vocab_size() - 1, vocab_size),
                   "vocab_size");
  }

  auto chat_template = ChatTemplate::load(directory);
  if (chat_template) {
    loaded.chat_template = std::move(*chat_template);
  } else if (chat_template.error().code != ErrorCode::kNotFound) {
    return std::unexpected(chat_template.error());
  }

  auto generation_json = loaded.checkpoint->read_json("generation_config.json");
  if (!generation_json) return std::unexpected(generation_json.error());
  if (!generation_json->is_null()) {
    auto generation = parse_generation_config(*generation_json);
    if (!generation) return std::unexpected(generation.error());
    loaded.generation = std::move(*generation);
  }

  loaded.eos_token_ids = loaded.generation.eos_token_ids;
  for (const int32_t id : loaded.model->config().eos_token_ids) {
    add_unique(loaded.eos_token_ids, id);
  }
  for (const std::string_view token : kChatEndTokens) {
    if (const auto id = loaded.tokenizer->token_to_id(token)) add_unique(loaded.eos_token_ids, *id);
  }
  return {};
}

// From an open checkpoint.
Result<LoadedModel> load_onto_backend(LoadedModel loaded, const ModelOptions& options) {
  const auto backend_opts = backend_options(options);
  if (!backend_opts) return std::unexpected(backend_opts.error());
  auto backend = make_backend(*backend_opts);
  if (!backend) return std::unexpected(backend.error());
  loaded.backend = std::move(*backend);

  ProgressBar bar("Loading " + options.directory.string());
  auto model = load_model(*loaded.checkpoint, *loaded.backend,
                          [&bar](int64_t done, int64_t total) { bar.update(done, total); },
                          {.quantization = options.quantization});
  if (!model) return std::unexpected(model.error());
  loaded.model = std::move(*model);
  return loaded;
}

}  // namespace

Result<LoadedModel> load_weights(const ModelOptions& options) {
  LoadedModel loaded;
  auto checkpoint = Checkpoint::open(options.directory);
  if (!checkpoint) return std::unexpected(checkpoint.error());
  loaded.checkpoint = std::move(*checkpoint);
  return load_onto_backend(std::move(loaded), options);
}

Result<LoadedModel> load_random_weights(const ModelOptions& options, const PresetOptions& shape) {
  const auto config = preset_config(options.directory.string(), shape);
  if (!config) return std::unexpected(config.error());
  LoadedModel loaded;
  auto checkpoint = make_random_checkpoint(*config, 0, options.threads);
  if (!checkpoint) return std::unexpected(checkpoint.error());
  loaded.checkpoint = std::move(*checkpoint);
  return load_onto_backend(std::move(loaded), options);
}

Result<LoadedModel> load_model_directory(const ModelOptions& options) {
  auto loaded = load_weights(options);
  if (!loaded) return loaded;
  if (const auto text = load_text(*loaded); !text) return std::unexpected(text.error());
  return loaded;
}

}  // namespace deltaserve
