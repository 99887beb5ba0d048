// Random conversations with pictures and videos of many sizes through the engine over a real model:
// whatever the borders of chunks, hits of the prefix cache, preemption and n, every answer has, bit
// by bit, the logprobs of a run without any of it, whose positions are computed here once more by
// the rule of transformers' get_rope_index.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <random>

#include "fake_engine.h"
#include "loaded_model.h"
#include "model/embedding_copies.h"
#include "picture_documents.h"
#include "same_bits.h"

namespace deltaserve {
namespace {

constexpr int64_t kLongest = 512;  // tokens of a sequence
constexpr int64_t kPages = 20;
constexpr int32_t kMaxItems = 6;  // of a prompt: all have room in the pages

LoadedModel load(const Checkpoint& checkpoint, DType dtype, int64_t num_blocks, int64_t num_slots) {
  EngineOptions options;
  options.max_num_seqs = 8;
  options.max_num_batched_tokens = 512;
  options.max_frame_patches = 26 * 26;  // as add_item has it
  options.encoder_cache_tokens = kPages * kVisionPageRows;
  return {
      checkpoint, {.compute_dtype = dtype, .threads = 1}, options, kLongest, num_blocks, num_slots,
      true};
}

class PictureTrace {
 public:
  PictureTrace(const Checkpoint& checkpoint, DType dtype, const FakeLimits& limits, uint64_t seed)
      : reference_(load(checkpoint, dtype, kLongest / kBlockSize, 1)),
        served_(
            load(checkpoint, dtype, limits.num_blocks, limits.max_num_seqs + limits.num_snapshots)),
        config_(served_.model->config()),
        random_(seed),
        core_(core_options(limits), *served_.runner) {
    for (int i = 0; i < 5; ++i) add_item(1, 16, false);
    add_item(1, 26, false);  // may cross pages and chunks
    for (int i = 0; i < 2; ++i) add_item(static_cast<int32_t>(between(2, 3)), 8, true);
  }

  void run(int num_requests) {
    for (int submitted = 0; submitted < num_requests || core_.has_work();) {
      if (submitted < num_requests && requests_.size() < 5 && chance(0.4)) {
        submit(static_cast<RequestId>(++submitted));
      }
      if (!requests_.empty() && chance(0.01)) core_.abort(requests_.begin()->first);
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

 private:
  CoreOptions core_options(const FakeLimits& limits) const {
    CoreOptions options = FakeEngine::core_options(limits);
    options.vocab_size = config_.vocab_size;
    options.placeholders = {.image = config_.image_token_id, .video = config_.video_token_id};
    return options;
  }

  bool chance(double p) { return std::uniform_real_distribution<>(0.0, 1.0)(random_) < p; }
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  void add_item(int32_t t, int64_t longest_side, bool is_video) {
    const auto side = [&] {
      return static_cast<int32_t>(kDocumentMerge * between(1, longest_side / kDocumentMerge));
    };
    items_.push_back(make_random_item(*config_.vision, t, side(), side(), is_video, random_));
  }

  bool is_placeholder(int32_t token) const {
    return token == config_.image_token_id || token == config_.video_token_id;
  }

  Segment random_segment() {
    Segment segment;
    if (chance(0.5)) {
      segment.item = items_[static_cast<size_t>(between(0, std::ssize(items_) - 1))];
      const int32_t id = segment.item->is_video ? config_.video_token_id : config_.image_token_id;
      segment.tokens.assign(static_cast<size_t>(segment.item->num_tokens()), id);
      return segment;
    }
    for (int64_t i = between(1, chance(0.2) ? 90 : 12); i > 0; --i) {
      const auto token = static_cast<int32_t>(between(0, config_.vocab_size - 1));
      segment.tokens.push_back(is_placeholder(token) ? 0 : token);
    }
    return segment;
  }

  // As much of it as the longest prompt and the pages have room for; ends with text.
  Document cut_to_fit(const Document& document, int64_t room) {
    Document out;
    int32_t num_items = 0;
    for (const Segment& segment : document) {
      room -= std::ssize(segment.tokens);
      num_items += segment.item != nullptr ? 1 : 0;
      if (room <= 0 || num_items > kMaxItems) break;
      out.push_back(segment);
    }
    out.push_back({.tokens = {static_cast<int32_t>(between(1, 9))}, .item = nullptr});
    return out;
  }

  void submit(RequestId id) {
    Document document;
    if (!documents_.empty() && chance(0.8)) {
      document = documents_[static_cast<size_t>(between(0, std::ssize(documents_) - 1))];
      if (chance(0.4)) document.resize(static_cast<size_t>(between(1, std::ssize(document))));
    }
    for (int64_t i = between(1, documents_.empty() ? 12 : 4); i > 0; --i) {
      document.push_back(random_segment());
    }
    Request request;
    SamplingParams& sampling = request.sampling;
    sampling.max_tokens = between(2, 70);
    sampling.temperature = chance(0.3) ? 0.0F : 0.9F;
    sampling.seed = random_();
    sampling.num_logprobs = 2;
    sampling.n = chance(0.3) ? static_cast<int32_t>(between(2, 3)) : 1;
    document = cut_to_fit(document, kLongest - sampling.max_tokens - 1);
    for (const Segment& segment : document) {
      const auto position = std::ssize(request.prompt_token_ids);
      request.prompt_token_ids.insert(request.prompt_token_ids.end(), segment.tokens.begin(),
                                      segment.tokens.end());
      if (segment.item == nullptr) continue;
      request.vision_items.push_back(segment.item);
      const auto& [low, high] = segment.item->content_hash;
      request.content_keys.push_back({.position = position, .hash = {.low = low, .high = high}});
    }
    core_.add(id, request);
    requests_[id] = {.request = std::move(request), .document = std::move(document)};
  }

  // Positions, and the embeddings of every picture, encoded alone by the other model.
  UnbrokenPictures pictures_of(const Document& document) {
    UnbrokenPictures pictures = positions_of(document);
    VisionTower& tower = *reference_.model->vision();
    std::vector<VisionJob> jobs;
    int32_t page = 0;
    for (const Segment& segment : document) {
      pictures.embeddings.resize(pictures.embeddings.size() + segment.tokens.size(), -1);
      if (segment.item == nullptr) continue;
      const auto first = std::ssize(pictures.embeddings) - std::ssize(segment.tokens);
      for (int64_t row = 0; row < segment.item->num_tokens(); ++row) {
        pictures.embeddings[static_cast<size_t>(first + row)] = page * kVisionPageRows + row;
      }
      VisionJob job{.item = segment.item, .pages = {}};
      for (int64_t i = vision_pages_for(segment.item->num_tokens()); i > 0; --i) {
        job.pages.push_back(page++);
      }
      EXPECT_LE(page, kPages);
      tower.begin({job});
      while (tower.busy()) tower.advance(std::numeric_limits<double>::max());
    }
    return pictures;
  }

  void finish(RequestId id) {
    const Submitted& submitted = requests_.at(id);
    const UnbrokenPictures pictures = pictures_of(submitted.document);
    for (const auto& [index, choice] : recorder_.records.at(id).choices) {
      if (choice.tokens.empty()) continue;
      SCOPED_TRACE(testing::Message() << "choice " << index << " of request " << id);
      UnbrokenRun unbroken(*reference_.runner, submitted.request, index, config_.vocab_size,
                           pictures);
      expect_same_bits(choice, unbroken.run(inherited_[{id, index}]));
      ++num_compared_;
    }
    Document document = submitted.document;
    Segment answer{.tokens = recorder_.records.at(id).choices.at(0).tokens, .item = nullptr};
    std::ranges::replace_if(
        answer.tokens, [&](int32_t token) { return is_placeholder(token); }, 0);
    if (!answer.tokens.empty()) document.push_back(std::move(answer));
    if (documents_.size() < 4) documents_.emplace_back();
    documents_[static_cast<size_t>(between(0, std::ssize(documents_) - 1))] = std::move(document);
    std::erase_if(documents_, [](const Document& d) { return d.empty(); });
    requests_.erase(id);
  }

  struct Submitted {
    Request request;
    Document document;
  };

  LoadedModel reference_;
  LoadedModel served_;
  ModelConfig config_;
  std::mt19937_64 random_;
  EngineCore core_;
  Recorder recorder_;
  std::vector<ItemPtr> items_;
  std::map<RequestId, Submitted> requests_;
  std::map<std::pair<RequestId, int32_t>, std::vector<ChunkCode>> inherited_;
  std::vector<Document> documents_;
  int64_t num_compared_ = 0;
};

constexpr int kNumRequests = 30;

class PictureTraceTest : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    const auto folder = std::filesystem::path(DELTASERVE_TEST_DATA) / "goldens" / "qwen3_5-dense";
    checkpoint_ = Checkpoint::open(folder).value();
  }
  std::unique_ptr<Checkpoint> checkpoint_;
};

TEST_P(PictureTraceTest, ResumedAsUnbroken) {
  PictureTrace trace(*checkpoint_, GetParam(),
                     {.num_blocks = 400,
                      .max_num_seqs = 5,
                      .max_num_batched_tokens = 200,
                      .num_snapshots = 40,
                      .snapshot_interval = 2,
                      .vision_pages = kPages},
                     1);
  trace.run(kNumRequests);
  EXPECT_GT(trace.num_compared(), kNumRequests - 4);
  EXPECT_GT(trace.stats().prefix_hit_tokens, trace.stats().prefix_query_tokens / 5);
}

TEST_P(PictureTraceTest, ResumedAsUnbrokenUnderEvictionAndPreemption) {
  PictureTrace trace(*checkpoint_, GetParam(),
                     {.num_blocks = 40,
                      .max_num_seqs = 5,
                      .max_num_batched_tokens = 133,
                      .num_snapshots = 5,
                      .snapshot_interval = 1,
                      .vision_pages = kPages},
                     2);
  trace.run(kNumRequests);
  EXPECT_GT(trace.num_compared(), kNumRequests - 4);
  EXPECT_GT(trace.stats().num_preemptions, 0);
  EXPECT_GT(trace.stats().evicted_blocks, kNumRequests);
  EXPECT_GT(trace.stats().prefix_hit_tokens, 0);
}

TEST_P(PictureTraceTest, WithoutACacheAsUnbroken) {
  PictureTrace trace(
      *checkpoint_, GetParam(),
      {.num_blocks = 48, .max_num_seqs = 4, .max_num_batched_tokens = 70, .vision_pages = kPages},
      3);
  trace.run(kNumRequests);
  EXPECT_GT(trace.num_compared(), kNumRequests - 4);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, PictureTraceTest, testing::Values(DType::kF32, DType::kBF16),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

}  // namespace
}  // namespace deltaserve
