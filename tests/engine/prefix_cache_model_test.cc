// The prefix cache over real models on the CPU: conversations that branch, are aborted, evicted,
// preempted and sampled several times give, bit by bit, the logprobs of runs without a cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include "fake_engine.h"
#include "loaded_model.h"
#include "same_bits.h"
#include "unbroken.h"

namespace deltaserve {
namespace {

constexpr int64_t kLongest = 640;  // tokens of a sequence

LoadedModel load(const Checkpoint& checkpoint, DType dtype, int64_t num_blocks, int64_t num_slots) {
  EngineOptions options;
  options.max_num_seqs = 16;
  options.max_num_batched_tokens = 512;
  return {checkpoint, {.compute_dtype = dtype, .threads = 1}, options, kLongest, num_blocks,
          num_slots};
}

class ModelTrace {
 public:
  ModelTrace(const Checkpoint& checkpoint, DType dtype, const FakeLimits& limits, uint64_t seed)
      : reference_(load(checkpoint, dtype, kLongest / kBlockSize, 1)),
        cached_(
            load(checkpoint, dtype, limits.num_blocks, limits.max_num_seqs + limits.num_snapshots)),
        random_(seed),
        core_(core_options(limits), *cached_.runner) {}

  void run(int num_requests) {
    for (int submitted = 0; submitted < num_requests || core_.has_work();) {
      if (submitted < num_requests && requests_.size() < 6 && chance(0.4)) {
        submit(static_cast<RequestId>(++submitted));
      }
      if (!requests_.empty() && chance(0.01)) core_.abort(requests_.begin()->first);
      if (!requests_.empty() && chance(0.02)) core_.abort_choice(requests_.begin()->first, 1);
      core_.step();
      const EngineSnapshot snapshot = core_.snapshot();
      ASSERT_EQ(find_violation(snapshot), std::nullopt);
      for (const SequenceSnapshot& s : snapshot.sequences) {
        if (s.status == SequenceStatus::kRunning) inherited_[{s.request, s.index}] = s.inherited;
      }
      for (const RequestId id : recorder_.take(core_.take_outputs())) finish(id);
    }
  }

  EngineStats stats() const { return core_.stats(); }
  int64_t num_compared() const { return num_compared_; }
  int64_t num_inherited() const { return num_inherited_; }

 private:
  CoreOptions core_options(const FakeLimits& limits) const {
    CoreOptions options = FakeEngine::core_options(limits);
    options.vocab_size = cached_.vocab_size;
    return options;
  }

  bool chance(double p) { return std::uniform_real_distribution<>(0.0, 1.0)(random_) < p; }
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  void submit(RequestId id) {
    Request request;
    std::vector<int32_t>& prompt = request.prompt_token_ids;
    if (!texts_.empty() && chance(0.85)) {
      const std::vector<int32_t>& text =
          texts_[static_cast<size_t>(between(0, static_cast<int64_t>(texts_.size()) - 1))];
      const auto size = static_cast<int64_t>(text.size());
      prompt.assign(text.begin(), text.begin() + (chance(0.6) ? size : between(1, size)));
    }
    const int64_t added = between(1, texts_.empty() ? 300 : 90);
    for (int64_t i = 0; i < added; ++i) {
      prompt.push_back(static_cast<int32_t>(between(0, cached_.vocab_size - 1)));
    }
    SamplingParams& sampling = request.sampling;
    sampling.max_tokens = between(2, 100);
    sampling.temperature = chance(0.3) ? 0.0F : 0.9F;
    sampling.repetition_penalty = chance(0.3) ? 1.2F : 1.0F;
    sampling.seed = random_();
    sampling.num_logprobs = 2;
    sampling.n = chance(0.25) ? static_cast<int32_t>(between(2, 3)) : 1;
    request.priority = static_cast<int32_t>(between(0, 1));
    const auto most = static_cast<size_t>(kLongest - sampling.max_tokens);
    if (prompt.size() > most) prompt.resize(most);
    requests_[id] = request;
    core_.add(id, request);
  }

  void finish(RequestId id) {
    const Request& request = requests_.at(id);
    const RequestRecord& record = recorder_.records.at(id);
    for (const auto& [index, choice] : record.choices) {
      const std::vector<ChunkCode> inherited = inherited_[{id, index}];
      if (choice.tokens.empty()) continue;
      SCOPED_TRACE(testing::Message() << "choice " << index << " of request " << id);
      UnbrokenRun unbroken(*reference_.runner, request, index, cached_.vocab_size);
      expect_same_bits(choice, unbroken.run(inherited));
      ++num_compared_;
      num_inherited_ += inherited.empty() ? 0 : 1;
    }
    std::vector<int32_t> text = request.prompt_token_ids;
    const std::vector<int32_t>& answer = record.choices.at(0).tokens;
    text.insert(text.end(), answer.begin(), answer.end());
    if (texts_.size() < 5) texts_.emplace_back();
    texts_[static_cast<size_t>(between(0, static_cast<int64_t>(texts_.size()) - 1))] = text;
    std::erase_if(texts_, [](const std::vector<int32_t>& t) { return t.empty(); });
    requests_.erase(id);
  }

  LoadedModel reference_;
  LoadedModel cached_;
  std::mt19937_64 random_;
  EngineCore core_;
  Recorder recorder_;
  std::map<RequestId, Request> requests_;
  std::map<std::pair<RequestId, int32_t>, std::vector<ChunkCode>> inherited_;
  std::vector<std::vector<int32_t>> texts_;
  int64_t num_compared_ = 0;
  int64_t num_inherited_ = 0;
};

class PrefixCacheModelTest : public testing::TestWithParam<std::tuple<std::string, DType>> {
 protected:
  void SetUp() override {
    const auto directory =
        std::filesystem::path(DELTASERVE_TEST_DATA) / "goldens" / std::get<std::string>(GetParam());
    checkpoint_ = Checkpoint::open(directory).value();
  }
  DType dtype() const { return std::get<DType>(GetParam()); }
  // The wide model takes ten times as long for a token.
  int num_requests() const { return std::get<std::string>(GetParam()) == "qwen3_5-wide" ? 18 : 40; }

  std::unique_ptr<Checkpoint> checkpoint_;
};

TEST_P(PrefixCacheModelTest, ResumedAsUnbroken) {
  ModelTrace trace(*checkpoint_, dtype(),
                   {.num_blocks = 600,
                    .max_num_seqs = 6,
                    .max_num_batched_tokens = 200,
                    .num_snapshots = 40,
                    .snapshot_interval = 2},
                   1);
  trace.run(num_requests());
  EXPECT_GT(trace.num_compared(), num_requests() - 5);
  EXPECT_GT(trace.num_inherited(), 0);
  EXPECT_GT(trace.stats().prefix_hit_tokens, trace.stats().prefix_query_tokens / 4);
}

TEST_P(PrefixCacheModelTest, ResumedAsUnbrokenUnderEvictionAndPreemption) {
  ModelTrace trace(*checkpoint_, dtype(),
                   {.num_blocks = 48,
                    .max_num_seqs = 5,
                    .max_num_batched_tokens = 133,
                    .num_snapshots = 5,
                    .snapshot_interval = 1},
                   2);
  trace.run(num_requests());
  EXPECT_GT(trace.num_compared(), num_requests() - 5);
  EXPECT_GT(trace.stats().num_preemptions, 0);
  EXPECT_GT(trace.stats().evicted_snapshots, num_requests() / 4);
  EXPECT_GT(trace.stats().evicted_blocks, 2 * num_requests());
  EXPECT_GT(trace.stats().prefix_hit_tokens, 0);
}

TEST_P(PrefixCacheModelTest, ResumedAsUnbrokenFromTheHost) {
  ModelTrace trace(*checkpoint_, dtype(),
                   {.num_blocks = 60,
                    .max_num_seqs = 4,
                    .max_num_batched_tokens = 200,
                    .num_snapshots = 4,
                    .snapshot_interval = 1,
                    .swap_space_bytes = 64 << 20},
                   4);
  trace.run(num_requests());
  EXPECT_GT(trace.num_compared(), num_requests() - 5);
  EXPECT_GT(trace.stats().swapped_in_blocks, 0);
}

TEST_P(PrefixCacheModelTest, WithoutAnswersAsIfThereWereNoCache) {
  ModelTrace trace(*checkpoint_, dtype(),
                   {.num_blocks = 200,
                    .max_num_seqs = 5,
                    .max_num_batched_tokens = 256,
                    .num_snapshots = 12,
                    .reuse_answers = false},
                   3);
  trace.run(num_requests());
  EXPECT_GT(trace.num_compared(), num_requests() - 5);
  EXPECT_EQ(trace.num_inherited(), 0);
  EXPECT_GT(trace.stats().prefix_hit_tokens, trace.stats().prefix_query_tokens / 4);
}

INSTANTIATE_TEST_SUITE_P(
    Goldens, PrefixCacheModelTest,
    testing::Values(std::tuple("qwen3_5-dense", DType::kF32),
                    std::tuple("qwen3_5-moe", DType::kBF16), std::tuple("qwen3_next", DType::kF32),
                    std::tuple("qwen3_5-wide", DType::kBF16)),  // wide: the real head sizes
    [](const auto& param) {
      std::string name = std::get<std::string>(param.param);
      std::ranges::replace(name, '-', '_');
      return name + (std::get<DType>(param.param) == DType::kF32 ? "_f32" : "_bf16");
    });

}  // namespace
}  // namespace deltaserve
