// The `generate` command.
#include "app/generate_command.h"

#include <fmt/format.h>

#include <cstdio>

#include "app/loaded_model.h"
#include "app/local_engine.h"
#include "engine/default_sampling.h"
#include "text/detokenizer.h"

namespace deltaserve {

int run_generate(const GenerateOptions& options) {
  auto loaded = load_model_directory(options.model);
  if (!loaded) return report_failure(loaded.error());
  EngineOptions engine_options = options.engine;
  engine_options.max_num_seqs = 1;
  engine_options.max_frame_patches = 0;
  engine_options.sampling_vocab_size = loaded->tokenizer->vocab_size();
  auto engine = LocalEngine::start(*loaded->model, engine_options);
  if (!engine) return report_failure(engine.error());

  Request request;
  request.prompt_token_ids = loaded->tokenizer->encode(options.prompt);
  if (request.prompt_token_ids.empty()) {
    return report_failure(invalid("--prompt must not be empty", "prompt").error());
  }
  request.eos_token_ids = loaded->eos_token_ids;
  request.sampling = default_sampling(loaded->generation);
  if (options.temperature) request.sampling.temperature = static_cast<float>(*options.temperature);
  request.sampling.seed = options.seed;
  request.sampling.max_tokens = options.max_tokens;

  Detokenizer detokenizer(*loaded->tokenizer, true);
  std::string text;
  const auto ran = (*engine)->run(std::move(request), [&](const ChoiceOutput& output) {
    std::string piece;
    for (const int32_t id : output.token_ids) piece += detokenizer.push(id);
    if (output.finish_reason) piece += detokenizer.finish();
    if (options.stream) {
      fmt::print("{}", piece);
      std::fflush(stdout);
    } else {
      text += piece;
    }
    return true;
  });
  if (!ran) return report_failure(ran.error());
  fmt::print("{}\n", text);
  return 0;
}

}  // namespace deltaserve
