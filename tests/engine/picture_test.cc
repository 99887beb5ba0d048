// Pictures through scheduler, prefix cache and encoder cache, with hashes in place of tensors: what
// a request says is what it says alone, however pictures are encoded, evicted and found again.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <stdexcept>

#include "engine/request_check.h"
#include "fake_engine.h"

namespace deltaserve {
namespace {

// A picture of height x width tokens.
std::shared_ptr<const VisionItem> make_picture(uint64_t content, int32_t height, int32_t width) {
  auto item = std::make_shared<VisionItem>();
  item->grid_h = 2 * height;
  item->grid_w = 2 * width;
  item->content_hash = {content, 7};
  return item;
}

// Text of `text_len` tokens, a picture, more text: what `parts` says.
struct Part {
  int64_t text_len = 0;
  std::shared_ptr<const VisionItem> picture = nullptr;  // behind the text
};

Request make_picture_request(const std::vector<Part>& parts, int64_t max_tokens,
                             uint64_t seed = 1) {
  Request request = make_request(0, max_tokens, seed);
  for (const Part& part : parts) {
    Request text = make_request(part.text_len, 1, seed);
    std::ranges::replace(text.prompt_token_ids, kFakePlaceholder, 0);
    std::vector<int32_t>& ids = request.prompt_token_ids;
    ids.insert(ids.end(), text.prompt_token_ids.begin(), text.prompt_token_ids.end());
    if (part.picture == nullptr) continue;
    request.content_keys.push_back(
        {.position = static_cast<int64_t>(ids.size()),
         .hash = {.low = part.picture->content_hash[0], .high = part.picture->content_hash[1]}});
    ids.insert(ids.end(), static_cast<size_t>(part.picture->num_tokens()), kFakePlaceholder);
    request.vision_items.push_back(part.picture);
  }
  return request;
}

FakeLimits picture_limits() {
  return {.num_blocks = 128, .num_snapshots = 8, .vision_pages = 16};
}

RequestRecord run_one(FakeEngine& engine, RequestId id, const Request& request) {
  engine.core.add(id, request);
  engine.run();
  return engine.recorder.records[id];
}

TEST(Picture, ChangesTheTextAndIsTheSameInAnyStep) {
  const auto picture = make_picture(5, 9, 11);
  const Request seen = make_picture_request({{30, picture}, {20}}, 20);
  const Request other = make_picture_request({{30, make_picture(6, 9, 11)}, {20}}, 20);
  EXPECT_NE(run_alone(seen).choices[0].tokens, run_alone(other).choices[0].tokens);
  FakeEngine engine(picture_limits());
  EXPECT_EQ(run_one(engine, 1, seen).choices[0].tokens, run_alone(seen).choices[0].tokens);
}

TEST(Picture, IsPartOfThePrefixTheCacheKnows) {
  FakeEngine engine(picture_limits());
  const auto picture = make_picture(5, 10, 10);
  const std::vector<Part> parts = {{64, picture}, {100}};
  const Request first = make_picture_request(parts, 4);
  run_one(engine, 1, first);
  const int64_t encoded = engine.runner.encoder->patches_encoded;
  EXPECT_EQ(encoded, picture->num_patches());

  // The same picture: its tokens are found and it is not encoded again.
  const RequestRecord again = run_one(engine, 2, first);
  EXPECT_EQ(again.choices.at(0).tokens, run_alone(first).choices[0].tokens);
  EXPECT_GE(again.num_cached_tokens, 164);
  EXPECT_EQ(engine.runner.encoder->patches_encoded, encoded);

  // Another picture in the same text: nothing of it or behind it is shared.
  const Request other = make_picture_request({{64, make_picture(6, 10, 10)}, {100}}, 4);
  const RequestRecord apart = run_one(engine, 3, other);
  EXPECT_EQ(apart.choices.at(0).tokens, run_alone(other).choices[0].tokens);
  EXPECT_LE(apart.num_cached_tokens, 64);
}

// Counted are pictures that a prompt needs: not those of a prefix that is in the cache.
TEST(Picture, StatsTellWhatWasEncodedAndFound) {
  FakeEngine engine(picture_limits());
  const auto picture = make_picture(5, 4, 4);
  run_one(engine, 1, make_picture_request({{10, picture}, {9}}, 2, 1));
  run_one(engine, 2, make_picture_request({{12, picture}, {9}}, 2, 2));
  run_one(engine, 3, make_picture_request({{10, make_picture(6, 4, 4)}, {5, picture}, {9}}, 2, 3));
  run_one(engine, 4, make_picture_request({{80}}, 2, 4));
  const EngineStats stats = engine.core.stats();
  EXPECT_EQ(stats.encoder_queries, 4);
  EXPECT_EQ(stats.encoder_hits, 2);
  EXPECT_EQ(stats.encoded_items, 2);
}

TEST(Picture, EncodingLetsDecodesGoOn) {
  FakeEngine engine(picture_limits());
  engine.core.add(1, make_picture_request({{10}}, 60));
  engine.step();
  engine.step();
  const auto produced = [&] { return engine.core.stats().generation_tokens; };
  // 3,600 patches, at half of the 256 tokens a step each.
  const Request large = make_picture_request({{5, make_picture(9, 30, 30)}, {5}}, 2);
  engine.core.add(2, large);
  int steps = 0;
  while (engine.runner.encoder->patches_encoded < 3600) {
    const int64_t before = produced();
    engine.step();
    EXPECT_EQ(produced(), before + 1);
    ASSERT_LT(++steps, 60);
  }
  EXPECT_GT(steps, 10);
  engine.run();
  EXPECT_EQ(engine.recorder.records[2].choices[0].tokens, run_alone(large).choices[0].tokens);
}

TEST(Picture, AnAbortedRequestsPicturesAreNotEncodedToTheirEnd) {
  FakeEngine engine(picture_limits());
  engine.core.add(1, make_picture_request({{10}}, 100));
  engine.step();
  engine.core.add(2, make_picture_request({{5, make_picture(9, 30, 30)}, {5}}, 2));
  engine.step();
  engine.step();
  engine.core.abort(2);
  const int64_t encoded = engine.runner.encoder->patches_encoded;
  EXPECT_GT(encoded, 0);
  engine.run();
  EXPECT_EQ(engine.runner.encoder->patches_encoded, encoded);
  EXPECT_EQ(engine.recorder.records[2].choices[0].reason, FinishReason::kAbort);
}

TEST(Picture, AFailingEncoderEndsWhoWaitsForIt) {
  FakeEngine engine(picture_limits());
  engine.core.add(1, make_picture_request({{10}}, 30));
  engine.step();
  const Request request = make_picture_request({{5, make_picture(9, 4, 4)}, {5}}, 2);
  engine.core.add(2, request);
  engine.step();  // asks
  engine.runner.encoder->on_advance = [] { throw std::runtime_error("injected"); };
  engine.step();
  engine.runner.encoder->on_advance = nullptr;
  engine.run();
  EXPECT_EQ(engine.recorder.records[2].choices[0].reason, FinishReason::kError);
  EXPECT_EQ(engine.recorder.records[1].choices[0].tokens,
            run_alone(make_picture_request({{10}}, 30)).choices[0].tokens);
  EXPECT_EQ(run_one(engine, 3, request).choices[0].tokens, run_alone(request).choices[0].tokens);
}

TEST(Picture, RequestsThatCannotBeRunAreRefused) {
  const FakeEncoder encoder(2);
  const RequestLimits limits = {.max_model_len = 1000,
                                .vocab_size = kFakeVocab,
                                .max_choices = 4,
                                .placeholders = {.image = kFakePlaceholder, .video = -1},
                                .vision = &encoder};
  const auto error = [](const Request& request, const RequestLimits& with) {
    const auto checked = check_request(request, with);
    return checked ? std::string() : checked.error().message;
  };
  const Request good = make_picture_request({{5, make_picture(1, 8, 8)}, {5}}, 2);
  EXPECT_EQ(error(good, limits), "");
  Request shorter = good;
  shorter.prompt_token_ids.erase(shorter.prompt_token_ids.begin() + 6);
  EXPECT_NE(error(shorter, limits).find("there are 63"), std::string::npos);
  Request none = good;
  none.vision_items.clear();
  EXPECT_NE(error(none, limits).find("no picture fills"), std::string::npos);
  const Request crowded =
      make_picture_request({{5, make_picture(1, 8, 16)}, {5, make_picture(2, 1, 1)}}, 2);
  EXPECT_NE(error(crowded, limits).find("fewer or smaller"), std::string::npos);
  const Request huge = make_picture_request({{5, make_picture(1, 501, 1)}, {5}}, 2);
  EXPECT_NE(error(huge, limits).find("too large"), std::string::npos);
  RequestLimits text_only = limits;
  text_only.vision = nullptr;
  text_only.placeholders = {};
  EXPECT_NE(error(good, text_only).find("text only"), std::string::npos);
}

// Few pictures in many requests over pools that hold a part of them.
class PictureTrace : public testing::TestWithParam<uint64_t> {};

TEST_P(PictureTrace, EveryRequestSaysWhatItSaysAlone) {
  std::mt19937_64 random(GetParam());
  const auto between = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  std::vector<std::shared_ptr<const VisionItem>> pictures;
  for (uint64_t i = 0; i < 6; ++i) {
    pictures.push_back(make_picture(i, static_cast<int32_t>(between(1, 12)),
                                    static_cast<int32_t>(between(1, 12))));
  }
  FakeEngine engine({.num_blocks = 28,
                     .max_num_seqs = 4,
                     .max_num_batched_tokens = 128,
                     .num_snapshots = GetParam() % 2 == 0 ? 6 : 0,
                     .reuse_answers = false,
                     .vision_pages = 7});
  std::map<RequestId, Request> requests;
  RequestId next = 1;
  std::vector<RequestId> finished;
  std::set<RequestId> aborted;
  while (next <= 150 || engine.core.has_work()) {
    if (next <= 150 && between(0, 3) == 0) {
      std::vector<Part> parts;
      for (int64_t k = between(1, 3); k > 0; --k) {
        parts.push_back({between(1, 70), between(0, 2) == 0
                                             ? nullptr
                                             : pictures[static_cast<size_t>(between(0, 5))]});
      }
      parts.push_back({between(1, 20)});
      Request request =
          make_picture_request(parts, between(1, 120), static_cast<uint64_t>(between(1, 3)));
      request.sampling.temperature = 0.7F;
      request.sampling.n = static_cast<int32_t>(between(1, 2));
      const auto longest =
          static_cast<int64_t>(request.prompt_token_ids.size()) + request.sampling.max_tokens;
      if (longest <= int64_t{28} * kBlockSize) {
        requests[next] = request;
        engine.core.add(next, request);
      }
      ++next;
    }
    if (between(0, 60) == 0 && !requests.empty()) {
      const RequestId id = requests.rbegin()->first;
      engine.core.abort(id);
      aborted.insert(id);
    }
    if (engine.core.has_work()) engine.step();
  }
  EXPECT_GT(engine.core.stats().num_preemptions, 0);
  int64_t compared = 0;
  for (const auto& [id, request] : requests) {
    if (aborted.contains(id)) continue;
    const RequestRecord alone = run_alone(request);
    const RequestRecord& record = engine.recorder.records[id];
    ASSERT_EQ(record.choices.size(), alone.choices.size());
    for (const auto& [index, choice] : alone.choices) {
      EXPECT_EQ(record.choices.at(index).tokens, choice.tokens) << "request " << id;
    }
    compared += request.vision_items.empty() ? 0 : 1;
  }
  EXPECT_GT(compared, 50);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PictureTrace, testing::Range(uint64_t{1}, uint64_t{9}));

}  // namespace
}  // namespace deltaserve
