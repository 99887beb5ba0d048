// Arrivals, steps and the comparison with isolated runs.
#include "random_trace.h"

#include <algorithm>
#include <stdexcept>

namespace deltaserve {

Trace::Trace(const TraceShape& shape) : shape_(shape), random_(shape.seed), engine_(shape.limits) {
  engine_.runner.non_finite_every = shape.non_finite_every;
  engine_.runner.on_sequence = [this](const Batch&, int32_t) {
    if (chance(shape_.failure_rate)) throw std::runtime_error("injected");
  };
}

void Trace::run() {
  for (int i = 0; i < kStepsPerTrace; ++i) {
    // A bound on the backlog, as the server's queue has one.
    if (requests_.size() < 12 && chance(shape_.arrivals_per_step)) {
      chance(shape_.bursts) ? submit_burst() : submit(random_request());
    }
    if (!requests_.empty() && chance(shape_.abort_rate)) abort_one();
    if (engine_.core.has_work()) step();
  }
  for (int i = 0; engine_.core.has_work(); ++i) {
    ASSERT_LT(i, 20000) << "the engine does not come to an end";
    step();
  }
  // The abort of the last request leaves nothing to do but its output.
  for (const RequestId id : engine_.recorder.take(engine_.core.take_outputs())) finish(id);
  EXPECT_TRUE(requests_.empty()) << requests_.size() << " requests never finished";
  const EngineSnapshot end = engine_.core.snapshot();
  EXPECT_EQ(end.num_free_blocks + end.num_reclaimable_blocks, shape_.limits.num_blocks);
  EXPECT_EQ(end.num_free_slots, shape_.limits.max_num_seqs);
  const EngineStats stats = engine_.core.stats();
  if (shape_.limits.async) {
    EXPECT_GT(stats.num_steps_ahead, stats.num_steps / 20);
  } else {
    EXPECT_EQ(stats.num_steps_ahead, 0);
  }
}

Request Trace::random_request() {
  const int64_t longest = shape_.limits.num_blocks * kBlockSize;
  const int64_t prompt = between(1, std::min(shape_.longest_prompt, longest - 1));
  Request request = make_request(
      prompt, between(1, std::min(shape_.longest_output, longest - prompt)), random_());
  SamplingParams& sampling = request.sampling;
  sampling.temperature = chance(0.5) ? 1.0F : 0.0F;
  sampling.repetition_penalty = chance(0.3) ? 1.2F : 1.0F;
  sampling.presence_penalty = chance(0.3) ? 0.5F : 0.0F;
  sampling.num_logprobs = chance(0.3) ? static_cast<int32_t>(between(0, 3)) : -1;
  sampling.n = chance(0.2) ? static_cast<int32_t>(between(2, 3)) : 1;
  sampling.min_tokens = chance(0.3) ? between(0, sampling.max_tokens) : 0;
  sampling.ignore_eos = chance(0.3);
  if (chance(0.3)) sampling.stop_token_ids = {3, 900};
  request.eos_token_ids = {7};
  request.priority = static_cast<int32_t>(between(0, 2));
  request.prompt_logprobs = chance(0.2) ? static_cast<int32_t>(between(0, 2)) : -1;
  if (shape_.conversations) go_on(request);
  if (shape_.plain > 0.0 && chance(shape_.plain)) {
    sampling.repetition_penalty = 1.0F;
    sampling.frequency_penalty = 0.0F;
    sampling.presence_penalty = 0.0F;
  }
  return request;
}

void Trace::go_on(Request& request) {
  // The first token shows, after its step, how the prompt before it was computed.
  request.sampling.max_tokens = std::max<int64_t>(2, request.sampling.max_tokens);
  request.sampling.min_tokens = std::max<int64_t>(1, request.sampling.min_tokens);
  std::vector<int32_t>& prompt = request.prompt_token_ids;
  if (chance(0.2)) request.cache_salt = "other";
  if (chance(0.3)) {
    request.cache_borders = {between(0, 40), between(41, 100), between(101, 150)};
  }
  const int64_t longest = shape_.limits.num_blocks * kBlockSize - request.sampling.max_tokens;
  if (!texts_.empty() && chance(0.8)) {
    const std::vector<int32_t>& text =
        texts_[static_cast<size_t>(between(0, static_cast<int64_t>(texts_.size()) - 1))];
    const auto size = static_cast<int64_t>(text.size());
    const int64_t kept = chance(0.6) ? size : between(1, size);
    prompt.insert(prompt.begin(), text.begin(), text.begin() + kept);
  }
  const int64_t most = std::min(longest, 3 * shape_.longest_prompt);
  if (static_cast<int64_t>(prompt.size()) > most) prompt.resize(static_cast<size_t>(most));
}

void Trace::remember(const Request& request, const ChoiceRecord& choice) {
  std::vector<int32_t> text = request.prompt_token_ids;
  text.insert(text.end(), choice.tokens.begin(), choice.tokens.end());
  if (texts_.size() < 8) {
    texts_.push_back(std::move(text));
  } else {
    texts_[static_cast<size_t>(between(0, 7))] = std::move(text);
  }
}

void Trace::submit(const Request& request) {
  const RequestId id = next_id_++;
  requests_[id] = request;
  engine_.core.add(id, request);
}

void Trace::submit_burst() {
  const int64_t longest = shape_.limits.num_blocks * kBlockSize;
  const Request first = random_request();
  const int64_t shared = between(kChunkSize, std::min<int64_t>(longest / 2, 500));
  const Request beginning = make_request(shared, 1, random_());
  for (int64_t left = between(2, 5); left > 0; --left) {
    Request request = random_request();
    request.tenant = std::to_string(between(0, 2));
    request.cache_salt = chance(0.1) ? "stranger" : first.cache_salt;
    const std::vector<int32_t>& text = beginning.prompt_token_ids;
    const auto size = static_cast<int64_t>(text.size());
    const int64_t kept = chance(0.6) ? size : between(1, size);
    std::vector<int32_t>& prompt = request.prompt_token_ids;
    prompt.insert(prompt.begin(), text.begin(), text.begin() + kept);
    const int64_t most = longest - request.sampling.max_tokens;
    if (static_cast<int64_t>(prompt.size()) > most) prompt.resize(static_cast<size_t>(most));
    submit(request);
  }
}

void Trace::abort_one() {
  auto entry = requests_.begin();
  std::advance(entry, between(0, static_cast<int64_t>(requests_.size()) - 1));
  if (chance(0.3)) {
    engine_.core.abort_choice(entry->first, static_cast<int32_t>(between(0, 2)));
  } else {
    engine_.core.abort(entry->first);
  }
}

void Trace::step() {
  const std::vector<RequestId> finished = engine_.step();
  for (const SequenceSnapshot& s : engine_.core.snapshot().sequences) {
    num_held_ += s.held_for ? 1 : 0;
    if (s.status == SequenceStatus::kRunning) inherited_[{s.request, s.index}] = s.inherited;
  }
  for (const RequestId id : finished) finish(id);
}

RequestRecord Trace::run_reference(RequestId id, const Request& request) {
  RequestRecord record = run_alone(request, shape_.non_finite_every);
  for (auto& [index, choice] : record.choices) {
    const std::vector<ChunkCode> inherited = inherited_[{id, index}];
    inherited_.erase({id, index});
    if (inherited.empty()) continue;
    EXPECT_TRUE(shape_.limits.reuse_answers);
    ++num_inherited_;
    FakeRunner runner(shape_.limits.num_blocks, 1, kFakeVocab);
    runner.non_finite_every = shape_.non_finite_every;
    choice = UnbrokenRun(runner, request, index, kFakeVocab).run(inherited);
  }
  return record;
}

void Trace::finish(RequestId id) {
  const RequestRecord record = engine_.recorder.records.at(id);
  const Request request = requests_.at(id);
  requests_.erase(id);
  const RequestRecord alone = run_reference(id, request);
  if (shape_.conversations) remember(request, record.choices.at(0));
  ASSERT_EQ(static_cast<int32_t>(record.choices.size()), request.sampling.n);
  EXPECT_EQ(record.num_prompt_tokens, static_cast<int64_t>(request.prompt_token_ids.size()));
  for (const auto& [index, choice] : record.choices) {
    compare(choice, alone.choices.at(index), alone.any(FinishReason::kError));
    if (choice.error) check_error(choice.error->message, alone);
  }
  if (record.choices.at(0).tokens.empty() || alone.prompt_logprobs.empty()) return;
  compare_logprobs(record.prompt_logprobs, alone.prompt_logprobs);
}

void Trace::check_error(const std::string& message, const RequestRecord& alone) {
  if (message.find("injected") != std::string::npos) {
    EXPECT_GT(shape_.failure_rate, 0.0);
    ++num_failed_;
    return;
  }
  EXPECT_NE(message.find("non-finite logits"), std::string::npos) << message;
  EXPECT_TRUE(alone.any(FinishReason::kError));
}

void Trace::compare(const ChoiceRecord& got, const ChoiceRecord& alone, bool alone_failed) {
  const bool whole = got.reason == FinishReason::kStop || got.reason == FinishReason::kLength;
  if (whole && !alone_failed) {
    EXPECT_EQ(got.reason, alone.reason);
    EXPECT_EQ(got.stop_token, alone.stop_token);
    EXPECT_EQ(got.tokens.size(), alone.tokens.size());
    ++num_compared_;
  }
  if (!alone_failed) {
    ASSERT_LE(got.tokens.size(), alone.tokens.size());
  }
  const size_t common = std::min(got.tokens.size(), alone.tokens.size());
  for (size_t i = 0; i < common; ++i) {
    ASSERT_EQ(got.tokens[i], alone.tokens[i]) << "at output token " << i;
  }
  for (size_t i = 0; i < std::min(got.logprobs.size(), alone.logprobs.size()); ++i) {
    expect_equal(got.logprobs[i], alone.logprobs[i]);
  }
}

void Trace::expect_equal(const TokenLogprob& a, const TokenLogprob& b) {
  EXPECT_EQ(a.token, b.token);
  EXPECT_EQ(a.logprob, b.logprob);
  ASSERT_EQ(a.top.size(), b.top.size());
  for (size_t i = 0; i < a.top.size(); ++i) EXPECT_EQ(a.top[i].token, b.top[i].token);
}

void Trace::compare_logprobs(const std::vector<std::optional<TokenLogprob>>& got,
                             const std::vector<std::optional<TokenLogprob>>& alone) {
  ASSERT_EQ(got.size(), alone.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].has_value(), i > 0);
    if (i > 0) expect_equal(*got[i], *alone[i]);
  }
}

}  // namespace deltaserve
