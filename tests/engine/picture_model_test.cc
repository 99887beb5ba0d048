// Recorded pictures through the engine over a real model on the CPU: the recorded ids come out, and
// requests with pictures give the same bits alone and together, preempted and resumed from the
// cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "fake_engine.h"
#include "loaded_model.h"
#include "model/golden_cases.h"

namespace deltaserve {
namespace {

constexpr int32_t kNumRequests = 24;

struct Outcome {
  std::map<RequestId, RequestRecord> records;
  EngineStats stats;
};

class PictureModelTest : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    const auto directory =
        std::filesystem::path(DELTASERVE_TEST_DATA) / "goldens" / "qwen3_5-dense";
    checkpoint_ = Checkpoint::open(directory).value();
    file_ = SafetensorsFile::open(directory / "cases.safetensors").value();
    const ModelConfig config = parse_model_config(checkpoint_->config()).value();
    placeholders_ = {.image = config.image_token_id, .video = config.video_token_id};
    std::vector<GoldenCase> cases = read_golden_cases(*file_, config).value();
    for (GoldenCase& golden : cases) {
      if (golden.needs_vision()) golden_ = std::move(golden);
    }
    ASSERT_EQ(golden_.items.size(), 2U);
    for (size_t i = 0; i < golden_.items.size(); ++i) {
      auto item = std::make_shared<VisionItem>(*golden_.items[i]);
      item->content_hash = {i + 1, 0};
      items_.push_back(item);
      auto negative = std::make_shared<VisionItem>(*item);
      negative->content_hash = {i + 10, 0};
      for (uint8_t& level : negative->patches) level = static_cast<uint8_t>(255 - level);
      negatives_.push_back(std::move(negative));
    }
  }

  // The recorded prompt, repeated `times` times.
  Request recorded_request(int32_t times, int64_t max_tokens) const {
    Request request;
    for (int32_t k = 0; k < times; ++k) {
      const auto begin = static_cast<int64_t>(request.prompt_token_ids.size());
      const PromptLayout layout =
          PromptLayout::make(golden_.input_ids, items_, placeholders_).value();
      for (const VisionRun& run : layout.runs()) {
        request.content_keys.push_back(
            {.position = begin + run.begin,
             .hash = {.low = items_[static_cast<size_t>(run.item)]->content_hash[0], .high = 1}});
      }
      request.prompt_token_ids.insert(request.prompt_token_ids.end(), golden_.input_ids.begin(),
                                      golden_.input_ids.end());
      request.vision_items.insert(request.vision_items.end(), items_.begin(), items_.end());
    }
    request.sampling.max_tokens = max_tokens;
    request.sampling.temperature = 0.0F;
    request.sampling.seed = 1;
    request.sampling.num_logprobs = 2;
    return request;
  }

  Request mixed_request(int32_t i) const {
    Request request = recorded_request(1 + i % 3, 4 + i % 20);
    request.sampling.temperature = i % 2 == 0 ? 0.0F : 0.8F;
    request.sampling.seed = static_cast<uint64_t>(i);
    request.sampling.n = i % 5 == 0 ? 2 : 1;
    if (i % 4 == 3) {  // the same text with another picture
      request.vision_items[1] = negatives_[1];
      request.content_keys[1].hash.low = negatives_[1]->content_hash[0];
    }
    return request;
  }

  Outcome run(const FakeLimits& limits,
              const std::vector<std::pair<RequestId, Request>>& requests) {
    EngineOptions engine_options;
    engine_options.max_num_seqs = limits.max_num_seqs;
    engine_options.max_num_batched_tokens = limits.max_num_batched_tokens;
    engine_options.max_frame_patches = 64;
    engine_options.encoder_cache_tokens = limits.vision_pages * kVisionPageRows;
    const LoadedModel loaded(*checkpoint_, {.compute_dtype = GetParam(), .threads = 2},
                             engine_options, int64_t{limits.num_blocks} * kBlockSize,
                             limits.num_blocks, limits.max_num_seqs + limits.num_snapshots, true);
    CoreOptions core_options = FakeEngine::core_options(limits);
    core_options.vocab_size = loaded.vocab_size;
    core_options.placeholders = placeholders_;
    EngineCore core(core_options, *loaded.runner);
    for (const auto& [id, request] : requests) core.add(id, request);
    Recorder recorder;
    while (core.has_work()) {
      core.step();
      EXPECT_EQ(find_violation(core.snapshot()), std::nullopt);
      recorder.take(core.take_outputs());
    }
    return {.records = recorder.records, .stats = core.stats()};
  }

  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<SafetensorsFile> file_;
  PlaceholderIds placeholders_;
  GoldenCase golden_;
  std::vector<std::shared_ptr<const VisionItem>> items_;
  std::vector<std::shared_ptr<const VisionItem>> negatives_;  // of the same sizes
};

TEST_P(PictureModelTest, TheRecordedIdsComeOut) {
  if (GetParam() == DType::kBF16) {
    // Near ties flip: what must hold then is that a run repeats itself.
    const FakeLimits limits = {.max_num_seqs = 1, .vision_pages = 3};
    const auto request = recorded_request(1, 8);
    EXPECT_EQ(run(limits, {{1, request}}).records[1].choices[0].tokens,
              run(limits, {{1, request}}).records[1].choices[0].tokens);
    return;
  }
  const Outcome outcome =
      run({.max_num_seqs = 1, .vision_pages = 3}, {{1, recorded_request(1, 8)}});
  EXPECT_EQ(outcome.records.at(1).choices.at(0).tokens, golden_.greedy_ids);
}

void expect_same(const RequestRecord& a, const RequestRecord& b, RequestId id) {
  ASSERT_EQ(a.choices.size(), b.choices.size());
  for (const auto& [index, choice] : a.choices) {
    const ChoiceRecord& other = b.choices.at(index);
    ASSERT_EQ(choice.tokens, other.tokens) << "request " << id;
    for (size_t k = 0; k < choice.logprobs.size(); ++k) {
      ASSERT_EQ(choice.logprobs[k].logprob, other.logprobs[k].logprob) << "request " << id;
    }
  }
}

TEST_P(PictureModelTest, SameBitsAloneTogetherPreemptedAndResumed) {
  std::vector<std::pair<RequestId, Request>> requests;
  for (int32_t i = 0; i < kNumRequests; ++i) {
    requests.emplace_back(static_cast<RequestId>(i), mixed_request(i));
  }
  const FakeLimits alone = {.max_num_seqs = 1, .max_num_batched_tokens = 65, .vision_pages = 3};
  const Outcome expected = run(alone, requests);
  for (const FakeLimits& limits :
       {FakeLimits{.max_num_seqs = 8, .max_num_batched_tokens = 512, .vision_pages = 3},
        FakeLimits{
            .num_blocks = 26, .max_num_seqs = 6, .max_num_batched_tokens = 100, .vision_pages = 3},
        FakeLimits{.num_blocks = 40,
        .max_num_seqs = 6,
        .max_num_batched_tokens = 100,
        .num_snapshots = 8,
        .reuse_answers = false,
        .vision_pages = 3}}) {
    const Outcome actual = run(limits, requests);
    for (const auto& [id, record] : expected.records) {
      expect_same(actual.records.at(id), record, id);
    }
    EXPECT_TRUE(limits.num_blocks != 26 || actual.stats.num_preemptions > 0);
    EXPECT_TRUE(limits.num_snapshots == 0 || actual.stats.prefix_hit_tokens > 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, PictureModelTest, testing::Values(DType::kF32, DType::kBF16),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

}  // namespace
}  // namespace deltaserve
