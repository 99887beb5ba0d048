// Answers of a real model on schemas: reads lines of JSON schemas, prints for each a line
// {"text", "finish"} in the same order. See documents.py.
//   bench_grammar_documents MODEL [MAX_TOKENS] < SCHEMAS.jsonl
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "chat/grammar_tokens.h"
#include "engine/engine.h"
#include "grammar/grammar_spec.h"
#include "model/model.h"

namespace deltaserve {
namespace {

constexpr int64_t kSeqs = 16;

struct Answer {
  std::string text;
  std::string finish;
};

class Documents {
 public:
  Documents(Engine& engine, std::shared_ptr<const GrammarVocabulary> vocabulary, int64_t max_tokens)
      : engine_(&engine), vocabulary_(std::move(vocabulary)), max_tokens_(max_tokens) {
    engine_->start([this](std::vector<RequestOutput>&& outputs) { take(std::move(outputs)); });
  }

  Result<void> ask(const json::Value& schema) {
    auto grammar = compile_grammar(JsonSchemaSpec{schema}, vocabulary_);
    if (!grammar) return std::unexpected(grammar.error());
    Request request;
    request.prompt_token_ids = {1, 2, 3, 4};
    request.sampling.max_tokens = max_tokens_;
    request.sampling.seed = answers_.size();
    request.eos_token_ids = vocabulary_->end_ids();
    request.sampling.grammar = GrammarRule{*std::move(grammar), std::nullopt};
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return num_running_ < kSeqs; });
    const Result<RequestId> id = engine_->submit(std::move(request));
    if (!id) return std::unexpected(id.error());
    ids_.push_back(*id);
    answers_.emplace_back();
    ++num_running_;
    return {};
  }

  const std::vector<Answer>& wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return num_running_ == 0; });
    return answers_;
  }

 private:
  void take(std::vector<RequestOutput>&& outputs) {
    const std::lock_guard lock(mutex_);
    for (const RequestOutput& output : outputs) {
      Answer& answer =
          answers_[static_cast<size_t>(std::ranges::find(ids_, output.id) - ids_.begin())];
      for (const ChoiceOutput& choice : output.choices) {
        for (const int32_t token : choice.token_ids) answer.text += vocabulary_->bytes(token);
        if (choice.finish_reason == FinishReason::kStop) answer.finish = "stop";
        if (choice.finish_reason == FinishReason::kLength) answer.finish = "length";
        if (choice.error) answer.finish = choice.error->message;
      }
      num_running_ -= output.finished ? 1 : 0;
    }
    changed_.notify_all();
  }

  Engine* engine_;
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  int64_t max_tokens_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<RequestId> ids_;
  std::vector<Answer> answers_;
  int64_t num_running_ = 0;
};

Result<void> run(const char* directory, int64_t max_tokens) {
  const auto checkpoint = Checkpoint::open(directory);
  if (!checkpoint) return std::unexpected(checkpoint.error());
  const auto tokenizer = Tokenizer::load(directory);
  if (!tokenizer) return std::unexpected(tokenizer.error());
  CpuOptions cpu;
  cpu.compute_dtype = DType::kBF16;
  const auto backend = make_cpu_backend(cpu);
  if (!backend) return std::unexpected(backend.error());
  const auto model = load_model(**checkpoint, **backend);
  if (!model) return std::unexpected(model.error());
  EngineOptions options;
  options.max_num_seqs = kSeqs;
  options.max_model_len = max_tokens + 64;
  options.sampling_vocab_size = (*tokenizer)->vocab_size();
  const auto engine = make_engine(**model, options);
  if (!engine) return std::unexpected(engine.error());
  const std::vector<int32_t> ends = (*model)->config().eos_token_ids;
  Documents documents(**engine, make_grammar_vocabulary(**tokenizer, ends), max_tokens);
  for (std::string line; std::getline(std::cin, line);) {
    const auto schema = json::parse(line);
    if (!schema) return std::unexpected(schema.error());
    if (Result<void> done = documents.ask(*schema); !done) return done;
  }
  for (const Answer& answer : documents.wait()) {
    fmt::print("{}\n",
               json::serialize(json::Object{{"text", answer.text}, {"finish", answer.finish}}));
  }
  (*engine)->stop(0.0);
  return {};
}

}  // namespace
}  // namespace deltaserve

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_grammar_documents MODEL [MAX_TOKENS] < SCHEMAS.jsonl\n");
    return 2;
  }
  const auto done = deltaserve::run(argv[1], argc > 2 ? std::atoi(argv[2]) : 150);
  if (!done) {
    fmt::print(stderr, "error: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
