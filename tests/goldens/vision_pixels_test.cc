// What the vision tower reads of a picture's 8-bit samples: the bits of normalised floats, and with
// them the same embeddings in whatever parts it reads them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>
#include <random>
#include <span>

#include "backends/cpu/cpu_backend.h"
#include "model/embedding_copies.h"
#include "model/golden_cases.h"
#include "model/model.h"
#include "model/vision_pixels.h"
#include "model/vision_tower.h"
#include "ops/reference/reference_backend.h"

namespace deltaserve {
namespace {

constexpr int64_t kSamples = 4;  // of a channel and frame

VisionItem random_item(int32_t frames) {
  VisionItem item;
  item.grid_h = 4;
  item.grid_w = 6;
  item.frames = frames;
  item.offset = {127.5F, 123.675F, 0.0F};
  item.scale = {127.5F, 58.395F, 255.0F};
  std::mt19937 random(static_cast<uint32_t>(frames));
  item.patches.resize(static_cast<size_t>(item.num_patches() * 3 * frames * kSamples));
  for (uint8_t& sample : item.patches) sample = static_cast<uint8_t>(random() % 256);
  return item;
}

// The values by the definition: one float32 division a sample, frames repeated.
std::vector<float> defined_rows(const VisionItem& item, int32_t num_frames) {
  std::vector<float> out;
  const auto frame = static_cast<size_t>(kSamples);
  const size_t channel = frame * static_cast<size_t>(item.frames);
  for (size_t at = 0; at < item.patches.size(); at += channel) {
    const size_t c = at / channel % 3;
    for (int32_t f = 0; f < num_frames; ++f) {
      const size_t from = at + (item.frames == 1 ? 0 : static_cast<size_t>(f) * frame);
      for (size_t i = 0; i < frame; ++i) {
        const auto sample = static_cast<float>(item.patches[from + i]);
        out.push_back((sample - item.offset[c]) / item.scale[c]);
      }
    }
  }
  return out;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values, DType x_dtype) {
  std::vector<std::byte> out(values.size() * static_cast<size_t>(dtype_size(x_dtype)));
  for (size_t i = 0; i < values.size(); ++i) {
    const BFloat16 rounded = to_bfloat16(values[i]);
    if (x_dtype == DType::kF32) {
      std::memcpy(&out[i * sizeof(float)], &values[i], sizeof(float));
    } else {
      std::memcpy(&out[i * sizeof(rounded)], &rounded, sizeof(rounded));
    }
  }
  return out;
}

TEST(VisionPixels, HaveTheBitsOfNormalisedFloatsInAnyRows) {
  for (const DType x_dtype : {DType::kF32, DType::kBF16}) {
    for (const int32_t frames : {1, 2}) {
      const VisionItem item = random_item(frames);
      const std::vector<std::byte> whole = bytes_of(defined_rows(item, 2), x_dtype);
      const size_t row = whole.size() / static_cast<size_t>(item.num_patches());
      for (const auto& [begin, end] : {std::pair{0, 24}, {0, 1}, {5, 19}, {23, 24}, {7, 7}}) {
        const auto count = static_cast<size_t>(end - begin) * row;
        std::vector<std::byte> part(count);
        write_pixel_rows(item, begin, end, 2, x_dtype, part);
        EXPECT_TRUE(std::ranges::equal(
            part, std::span(whole).subspan(static_cast<size_t>(begin) * row, count)))
            << begin << " to " << end << " of " << frames;
      }
    }
  }
}

struct TowerCase {
  std::string name;
  DType dtype;
  bool is_reference;
};

class TowerPixels : public testing::TestWithParam<TowerCase> {
 protected:
  void SetUp() override {
    const auto folder = std::filesystem::path(DELTASERVE_TEST_DATA) / "goldens" / "qwen3_5-dense";
    checkpoint_ = Checkpoint::open(folder).value();
    file_ = SafetensorsFile::open(folder / "video.safetensors").value();
    const TowerCase& c = GetParam();
    backend_ = c.is_reference ? make_reference_backend(c.dtype)
                              : make_cpu_backend({.compute_dtype = c.dtype, .threads = 2}).value();
    model_ = load_model(*checkpoint_, *backend_).value();
    StepLimits limits;
    limits.max_tokens = limits.max_seqs = limits.max_model_len = 64;
    limits.max_frame_patches = 64;
    limits.vision_pages = 4;
    ASSERT_TRUE(model_->allocate(limits, 4, 1));
    const std::vector<GoldenCase> cases = read_golden_cases(*file_, model_->config()).value();
    for (const auto& item : cases.at(0).items) {
      (item->is_video ? video_ : picture_) = item;
    }
    ASSERT_TRUE(video_ && picture_);
  }

  // Embeddings of the items, each in a page of its own, with parts of `flop` operations.
  std::vector<float> encode(const std::vector<std::shared_ptr<const VisionItem>>& items,
                            double flop) {
    VisionTower& tower = *model_->vision();
    std::vector<VisionJob> jobs;
    for (const auto& item : items) {
      EXPECT_TRUE(tower.check(*item));
      jobs.push_back({.item = item, .pages = {static_cast<int32_t>(jobs.size())}});
    }
    tower.begin(jobs);
    while (tower.busy()) tower.advance(flop);
    std::vector<float> all;
    for (size_t i = 0; i < items.size(); ++i) {
      const auto width = static_cast<int64_t>(tower.config().out_hidden_size);
      std::vector<float> rows(static_cast<size_t>(items[i]->num_tokens() * width));
      const auto first = static_cast<int64_t>(i) * kVisionPageRows * width;
      backend_->copy_to_host(rows.data(), tower.embeddings() + first, rows.size() * sizeof(float));
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }

  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<SafetensorsFile> file_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::shared_ptr<const VisionItem> video_;
  std::shared_ptr<const VisionItem> picture_;
};

constexpr double kWhole = std::numeric_limits<double>::max();

// Once as one frame that stands for two, once as two equal frames.
TEST_P(TowerPixels, OneFrameStandsForAll) {
  auto once = std::make_shared<VisionItem>(*picture_);
  once->frames = 1;
  once->patches.clear();
  const size_t run = picture_->patches.size() / static_cast<size_t>(picture_->num_patches()) / 6;
  for (size_t at = 0; at < picture_->patches.size(); at += 2 * run) {
    const auto first = picture_->patches.begin() + static_cast<std::ptrdiff_t>(at);
    once->patches.insert(once->patches.end(), first, first + static_cast<std::ptrdiff_t>(run));
  }
  auto twice = std::make_shared<VisionItem>(*picture_);
  twice->patches.clear();
  for (size_t at = 0; at < once->patches.size(); at += run) {
    const auto first = once->patches.begin() + static_cast<std::ptrdiff_t>(at);
    for (int copy = 0; copy < 2; ++copy) {
      twice->patches.insert(twice->patches.end(), first, first + static_cast<std::ptrdiff_t>(run));
    }
  }
  EXPECT_EQ(encode({once}, kWhole), encode({twice}, kWhole));
}

// The CPU's rows depend on themselves alone; the reference is defined so.
TEST_P(TowerPixels, TheSameBitsInPartsOfAnySizeAndInAnyCompany) {
  const std::vector<float> together = encode({picture_, video_}, kWhole);
  EXPECT_EQ(encode({picture_, video_}, 0.0), together);
  EXPECT_EQ(encode({picture_, video_}, 1e6), together);
  std::vector<float> apart = encode({picture_}, 1e5);
  const std::vector<float> video = encode({video_}, 1e7);
  apart.insert(apart.end(), video.begin(), video.end());
  EXPECT_EQ(apart, together);
}

TEST_P(TowerPixels, RefusesPatchesThatAreCutForAnotherTower) {
  const VisionTower& tower = *model_->vision();
  VisionItem item = *picture_;
  item.frames = 3;
  EXPECT_FALSE(tower.check(item));
  item.frames = 1;  // with the samples of two
  EXPECT_FALSE(tower.check(item));
  item = *picture_;
  item.patches.pop_back();
  EXPECT_FALSE(tower.check(item));
}

INSTANTIATE_TEST_SUITE_P(Backends, TowerPixels,
                         testing::Values(TowerCase{"reference_f32", DType::kF32, true},
                                         TowerCase{"reference_bf16", DType::kBF16, true},
                                         TowerCase{"cpu_f32", DType::kF32, false},
                                         TowerCase{"cpu_bf16", DType::kBF16, false}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace deltaserve
