// What a grammar costs a batch of decodes, over a real model:
//   bench_grammar_decode MODEL [BATCH] [TOKENS] [ROUNDS]
// The same requests run free and on a schema that no answer ends before its last token, in turns.
// Printed are tokens a second and processor time a token, which other programs disturb less, and
// beside them what following the grammar takes of it: the answers are walked again by one thread.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "chat/grammar_tokens.h"
#include "engine/engine.h"
#include "engine/grammar_limit.h"
#include "grammar/grammar_spec.h"
#include "model/model.h"

namespace deltaserve {
namespace {

constexpr const char* kSchema =
    R"({"type":"array","minItems":100000,"items":{"anyOf":[{"type":"string","minLength":30},
        {"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer"}},
         "required":["name","n"],"additionalProperties":false}]}})";

double processor_seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Cost {
  double clock = 0.0;      // seconds
  double processor = 0.0;  // seconds of all threads
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

class Bench {
 public:
  Bench(Engine& engine, int32_t batch, int64_t tokens, int32_t vocab_size)
      : engine_(&engine), batch_(batch), tokens_(tokens), vocab_size_(vocab_size) {
    engine_->start([this](std::vector<RequestOutput>&& outputs) { take(std::move(outputs)); });
  }

  // Runs one batch to its end.
  Result<Cost> run(const std::optional<GrammarRule>& rule) {
    answers_.assign(static_cast<size_t>(batch_), {});
    const double before = processor_seconds(CLOCK_PROCESS_CPUTIME_ID);
    const auto begin = std::chrono::steady_clock::now();
    {
      const std::unique_lock lock(mutex_);
      num_finished_ = 0;
      ids_.clear();
      for (int32_t i = 0; i < batch_; ++i) {
        const Result<RequestId> id = engine_->submit(request(i, rule));
        if (!id) return std::unexpected(id.error());
        ids_.push_back(*id);
      }
    }
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return num_finished_ == batch_; });
    const auto time = std::chrono::steady_clock::now() - begin;
    return Cost{std::chrono::duration<double>(time).count(),
                processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - before};
  }

  // Seconds of one thread for following the last batch's answers and making their masks.
  double follow(const GrammarRule& rule) const {
    const double before = processor_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (const std::vector<int32_t>& answer : answers_) {
      GrammarLimit limit(rule);
      for (const int32_t token : answer) {
        limit.make_mask();
        limit.record(token);
      }
    }
    return processor_seconds(CLOCK_THREAD_CPUTIME_ID) - before;
  }

  int64_t num_tokens() const {
    int64_t count = 0;
    for (const auto& answer : answers_) count += std::ssize(answer);
    return count;
  }

 private:
  Request request(int32_t index, const std::optional<GrammarRule>& rule) const {
    Request request;
    for (int32_t i = 0; i < 64; ++i) {
      request.prompt_token_ids.push_back((index * 131 + i * 17) % std::min(vocab_size_, 1000));
    }
    request.sampling.max_tokens = tokens_;
    request.sampling.seed = static_cast<uint64_t>(index);
    request.sampling.ignore_eos = true;
    request.sampling.grammar = rule;
    return request;
  }

  void take(std::vector<RequestOutput>&& outputs) {
    const std::lock_guard lock(mutex_);
    for (const RequestOutput& output : outputs) {
      const auto place = std::ranges::find(ids_, output.id) - ids_.begin();
      for (const ChoiceOutput& choice : output.choices) {
        auto& answer = answers_[static_cast<size_t>(place)];
        answer.insert(answer.end(), choice.token_ids.begin(), choice.token_ids.end());
      }
      num_finished_ += output.finished ? 1 : 0;
    }
    finished_.notify_all();
  }

  Engine* engine_;
  int32_t batch_;
  int64_t tokens_;
  int32_t vocab_size_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::vector<RequestId> ids_;
  std::vector<std::vector<int32_t>> answers_;
  int32_t num_finished_ = 0;
};

Result<void> measure(Bench& bench, const GrammarRule& rule, int32_t rounds) {
  std::vector<double> clock[2];
  std::vector<double> processor[2];
  double follow = 0.0;
  for (int32_t round = -1; round < rounds; ++round) {  // the first touches memory and is not kept
    for (const size_t constrained : {size_t{0}, size_t{1}}) {
      const auto cost = bench.run(constrained == 1 ? std::optional(rule) : std::nullopt);
      if (!cost) return std::unexpected(cost.error());
      const auto tokens = static_cast<double>(bench.num_tokens());
      if (round < 0) continue;
      clock[constrained].push_back(tokens / cost->clock);
      processor[constrained].push_back(1e6 * cost->processor / tokens);
      if (constrained == 1) follow = 1e6 * bench.follow(rule) / tokens;
    }
  }
  const double free_speed = median(clock[0]);
  const double held_speed = median(clock[1]);
  const double free_time = median(processor[0]);
  const double held_time = median(processor[1]);
  fmt::print("free        {:8.1f} tokens/s  {:9.1f} us of processors a token\n", free_speed,
             free_time);
  fmt::print("on a schema {:8.1f} tokens/s  {:9.1f} us of processors a token\n", held_speed,
             held_time);
  fmt::print(
      "loss {:+.1f} % by the clock, {:+.1f} % in processor time; following the grammar and making "
      "masks: {:.1f} us a token, {:.2f} %\n",
      100.0 * (1.0 - held_speed / free_speed), 100.0 * (held_time / free_time - 1.0), follow,
      100.0 * follow / free_time);
  return {};
}

Result<void> run(const char* directory, int32_t batch, int64_t tokens, int32_t rounds) {
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
  options.max_num_seqs = batch;
  options.max_model_len = 64 + tokens;
  options.enable_prefix_caching = false;
  options.sampling_vocab_size = (*tokenizer)->vocab_size();
  const auto engine = make_engine(**model, options);
  if (!engine) return std::unexpected(engine.error());
  const GrammarSpec spec = JsonSchemaSpec{json::parse(kSchema).value()};
  const auto grammar = compile_grammar(spec, make_grammar_vocabulary(**tokenizer, {}));
  if (!grammar) return std::unexpected(grammar.error());
  fmt::print("{}: {} tokens of vocabulary, batch {}, {} tokens each, median of {} pairs\n",
             directory, (*tokenizer)->vocab_size(), batch, tokens, rounds);
  Bench bench(**engine, batch, tokens, (*tokenizer)->vocab_size());
  const Result<void> done = measure(bench, {*grammar, std::nullopt}, rounds);
  (*engine)->stop(0.0);
  return done;
}

}  // namespace
}  // namespace deltaserve

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_grammar_decode MODEL [BATCH] [TOKENS] [ROUNDS]\n");
    return 2;
  }
  const auto number = [&](int index, int fallback) {
    return argc > index ? std::atoi(argv[index]) : fallback;
  };
  const auto done = deltaserve::run(argv[1], number(2, 16), number(3, 128), number(4, 5));
  if (!done) {
    fmt::print(stderr, "error: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
