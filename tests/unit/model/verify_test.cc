// Reading recorded cases and judging a model by them. The record is made from the model itself and
// then spoilt.
#include "model/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <span>

#include "ops/reference/reference_backend.h"
#include "tensor/checkpoint.h"
#include "tensor/safetensors_writer.h"
#include "test_checkpoint.h"

namespace deltaserve {
namespace {

using ::testing::HasSubstr;

constexpr size_t kVocab = 96;
constexpr int32_t kImageToken = 90;

test::OwnedTensor owned_matrix(const std::vector<int32_t>& values, int64_t columns) {
  const auto bytes = std::as_bytes(std::span(values));
  return {DType::kI32,
          {static_cast<int64_t>(values.size()) / columns, columns},
          {bytes.begin(), bytes.end()}};
}

test::OwnedTensor owned_ids(const std::vector<int32_t>& ids) {
  const auto bytes = std::as_bytes(std::span(ids));
  return {DType::kI32, {static_cast<int64_t>(ids.size())}, {bytes.begin(), bytes.end()}};
}

test::OwnedTensor owned_rows(size_t rows, size_t columns, float value) {
  const std::vector<float> values(rows * columns, value);
  const auto bytes = std::as_bytes(std::span(values));
  return {DType::kF32,
          {static_cast<int64_t>(rows), static_cast<int64_t>(columns)},
          {bytes.begin(), bytes.end()}};
}

class VerifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    open_checkpoint(false);
    record_["a.input_ids"] = owned_ids({1, 2, 3});
    record_["a.logits"] = owned_rows(3, kVocab, 0.0F);
    record_["a.greedy_ids"] = owned_ids({4, 5});
    record_["a.greedy_logits"] = owned_rows(2, kVocab, 0.0F);
    for (int i = 0; i <= 4; ++i) {
      record_["a.hidden." + std::to_string(i)] = owned_rows(3, 32, 0.0F);
    }
    record_["b.input_ids"] = owned_ids({9, 8, 7, 6});
    record_["b.logits_rows"] = owned_ids({1, 3});
    record_["b.logits"] = owned_rows(2, kVocab, 0.0F);
    record_["image.input_ids"] = owned_ids({1, kImageToken, 2});
    record_["image.logits"] = owned_rows(3, kVocab, 0.0F);
    record_["image.pixel_values"] = owned_rows(4, 1536, 1.0F);
    record_["image.grid_thw"] = owned_matrix({1, 2, 2}, 3);
    record_["image.vision_embeds"] = owned_rows(1, 32, 0.0F);
    record_["image.position_ids"] = owned_matrix({0, 1, 2, 0, 1, 2, 0, 1, 2}, 3);
  }

  void open_checkpoint(bool with_vision) {
    json::Object config = test::dense_config();
    config["image_token_id"] = kImageToken;
    test::OwnedTensors weights = test::random_weights(config);
    if (!with_vision) {
      std::erase_if(weights,
                    [](const auto& tensor) { return tensor.first.starts_with("model.visual."); });
    }
    test::write_checkpoint(directory_.path(), config, weights);
    checkpoint_ = Checkpoint::open(directory_.path()).value();
  }

  // Cases as read from a file of `record_`.
  Result<std::vector<GoldenCase>> read() {
    std::vector<std::pair<std::string, TensorView>> views;
    for (const auto& [name, tensor] : record_) {
      views.emplace_back(
          name,
          TensorView{.dtype = tensor.dtype, .shape = tensor.shape, .data = tensor.bytes.data()});
    }
    const auto path = directory_.path() / "cases.safetensors";
    EXPECT_TRUE(write_safetensors(path, views));
    file_ = SafetensorsFile::open(path).value();
    return read_golden_cases(*file_, parse_model_config(checkpoint_->config()).value());
  }

  Result<VerifyReport> verify(const VerifyOptions& options) {
    const auto cases = read();
    EXPECT_TRUE(cases) << cases.error().message;
    auto model = load_model(*checkpoint_, *backend_).value();
    return verify_model(*model, cases.value(), options);
  }

  std::string read_error() {
    const auto cases = read();
    return cases ? "" : cases.error().message;
  }

  test::TempDirectory directory_{"verify"};
  std::unique_ptr<Backend> backend_ = make_reference_backend(DType::kF32);
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<SafetensorsFile> file_;
  test::OwnedTensors record_;
};

TEST_F(VerifyTest, CasesWithPicturesAreNotRunWithoutAVisionConfig) {
  json::Object config = test::dense_config();
  config.erase("vision_config");
  test::write_checkpoint(directory_.path(), config, test::random_weights(config));
  checkpoint_ = Checkpoint::open(directory_.path()).value();
  const auto report = verify({.tolerance = 100.0, .id_gap = 1.0});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->num_passed, 2);
  EXPECT_EQ(report->num_not_run, 1);
  EXPECT_TRUE(report->cases[0].needs_vision);
}

// Against zeros the errors are the model's own values, the same however the cases are run.
TEST_F(VerifyTest, MeasuresErrorsHoweverCasesAreRun) {
  const auto whole = verify({.tolerance = 100.0, .id_gap = 1.0});
  ASSERT_TRUE(whole) << whole.error().message;
  ASSERT_EQ(whole->cases.size(), 3U);
  EXPECT_EQ(whole->num_passed, 2);
  EXPECT_EQ(whole->num_not_run, 1);
  EXPECT_TRUE(whole->cases[0].needs_vision);
  const CaseReport& a = whole->cases[1];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.logits.count, 5 * 96);
  EXPECT_EQ(a.hidden.count, 5 * 3 * 32);
  EXPECT_EQ(a.num_ids, 3);
  EXPECT_GT(a.logits.max_abs, a.logits.rms());
  EXPECT_EQ(whole->cases[2].logits.count, 2 * 96);
  EXPECT_EQ(whole->cases[2].hidden.count, 0);

  for (const VerifyOptions& options :
       {VerifyOptions{.tolerance = 100.0, .id_gap = 1.0, .chunk = 1},
        VerifyOptions{.tolerance = 100.0, .id_gap = 1.0, .packed = true},
        VerifyOptions{.tolerance = 100.0, .id_gap = 1.0, .chunk = 2, .packed = true}}) {
    const auto other = verify(options);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->num_passed, 2);
    for (size_t i = 1; i < 3; ++i) {
      EXPECT_EQ(other->cases[i].logits.count, whole->cases[i].logits.count);
      EXPECT_NEAR(other->cases[i].logits.rms(), whole->cases[i].logits.rms(), 1e-5);
      EXPECT_NEAR(other->cases[i].hidden.rms(), whole->cases[i].hidden.rms(), 1e-5);
    }
  }
}

TEST_F(VerifyTest, FailsPastTheTolerance) {
  const auto report = verify({.tolerance = 1e-3, .id_gap = 1.0});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->num_failed, 2);
  EXPECT_FALSE(report->passed());
  const json::Value document = verify_report_json(*report);
  EXPECT_FALSE(document.at("passed").as_bool());
  EXPECT_EQ(document.at("cases").as_array().size(), 3U);
  EXPECT_EQ(document.at("cases").at(0).at("status").as_string(), "needs the vision tower: not run");
}

TEST_F(VerifyTest, RunsPicturesThroughTheTower) {
  open_checkpoint(true);
  const VerifyOptions loose = {
      .tolerance = 100.0, .vision_tolerance = 100.0, .id_gap = 1.0, .vision_id_gap = 1.0};
  const auto whole = verify(loose);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->num_passed, 3);
  EXPECT_EQ(whole->cases[2].name, "image");
  EXPECT_EQ(whole->cases[2].vision.count, 32);
  EXPECT_GT(whole->cases[2].vision.max_abs, 1e-4);
  VerifyOptions cut = loose;
  cut.chunk = 1;
  cut.packed = true;
  const auto parts = verify(cut);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->cases[2].vision.max_abs, whole->cases[2].vision.max_abs);
  EXPECT_NEAR(parts->cases[2].logits.max_abs, whole->cases[2].logits.max_abs, 1e-4);

  VerifyOptions strict = loose;
  strict.vision_tolerance = 1e-4;
  EXPECT_EQ(verify(strict)->num_failed, 1);
  record_["image.position_ids"] = owned_matrix({0, 1, 2, 0, 1, 2, 0, 2, 3}, 3);
  const auto misplaced = verify(loose);
  EXPECT_EQ(misplaced->num_failed, 1);
  EXPECT_EQ(misplaced->cases[2].num_positions_wrong, 2);
}

TEST_F(VerifyTest, RefusesPicturesThatDoNotFitTheirPrompt) {
  open_checkpoint(true);
  record_["image.input_ids"] = owned_ids({1, kImageToken, kImageToken});
  EXPECT_THAT(verify({.only = "image"}).error().message, HasSubstr("no picture fills"));
  record_["image.input_ids"] = owned_ids({1, 2, 3});
  EXPECT_THAT(verify({.only = "image"}).error().message, HasSubstr("no placeholder left"));
}

TEST_F(VerifyTest, BadPicturesAreNamed) {
  const test::OwnedTensors good = record_;
  record_["image.pixel_values"] = owned_rows(4, 1535, 0.0F);
  EXPECT_THAT(read_error(), HasSubstr("\"image.pixel_values\" must have 1536 columns"));
  record_ = good;
  for (const std::vector<int32_t>& grid :
       {std::vector<int32_t>{1, 2, 4}, {0, 2, 2}, {1, -2, -2}, {1, 1 << 30, 1 << 30}}) {
    record_["image.grid_thw"] = owned_matrix(grid, 3);
    EXPECT_THAT(read_error(), HasSubstr("does not fit the patches"));
  }
  record_ = good;
  record_.erase("image.vision_embeds");
  EXPECT_THAT(read_error(), HasSubstr("\"image.vision_embeds\" is missing"));
  record_ = good;
  record_["image.position_ids"] = owned_matrix({0, 1, 2}, 3);
  EXPECT_THAT(read_error(), HasSubstr("\"image.position_ids\" must be"));
}

TEST_F(VerifyTest, ARecordedWinnerByAWideGapMustWin) {
  // Every row's record says token 0 by a lead of 50, which the model does not.
  for (test::OwnedTensor* tensor : {&record_["a.logits"], &record_["a.greedy_logits"]}) {
    for (size_t row = 0; row < static_cast<size_t>(tensor->shape[0]); ++row) {
      const float lead = 50.0F;
      std::memcpy(tensor->bytes.data() + row * kVocab * sizeof(float), &lead, sizeof(lead));
    }
  }
  const auto report = verify({.tolerance = 100.0, .id_gap = 0.05, .only = "a"});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->num_failed, 1);
  EXPECT_EQ(report->cases[0].num_ids_wrong + report->cases[0].num_ids_equal, 3);
  EXPECT_GT(report->cases[0].num_ids_wrong, 0);
}

TEST_F(VerifyTest, OnlySelectsByGlob) {
  const auto report = verify({.tolerance = 100.0, .id_gap = 1.0, .only = "[ab]"});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->cases.size(), 2U);
  EXPECT_THAT(verify({.only = "image*"}).error().message, HasSubstr("vision tower"));
  EXPECT_THAT(verify({.only = "none"}).error().message, HasSubstr("no case is named like"));
}

TEST_F(VerifyTest, ANonFiniteValueIsAnInfiniteError) {
  ErrorStats stats;
  stats.add(1.0F, 1.5F);
  EXPECT_EQ(stats.max_abs, 0.5);
  stats.add(std::numeric_limits<float>::quiet_NaN(), 0.0F);
  stats.add(0.0F, 0.0F);
  EXPECT_EQ(stats.max_abs, std::numeric_limits<double>::infinity());
}

TEST_F(VerifyTest, BadRecordsAreNamed) {
  const test::OwnedTensors good = record_;
  const auto spoilt = [&](const std::string& name, test::OwnedTensor tensor) {
    record_ = good;
    record_[name] = std::move(tensor);
    return read_error();
  };
  EXPECT_THAT(spoilt("a.input_ids", owned_ids({96})), HasSubstr("\"a.input_ids\" holds 96"));
  EXPECT_THAT(spoilt("a.input_ids", owned_ids({})), HasSubstr("\"a.input_ids\" is empty"));
  EXPECT_THAT(spoilt("a.input_ids", owned_rows(1, 3, 0)), HasSubstr("list of int32"));
  EXPECT_THAT(spoilt("a.logits", owned_rows(2, kVocab, 0)), HasSubstr("shape [3, 96]"));
  EXPECT_THAT(spoilt("a.hidden.2", owned_rows(3, 31, 0)), HasSubstr("\"a.hidden.2\""));
  EXPECT_THAT(spoilt("a.greedy_logits", owned_rows(3, kVocab, 0)), HasSubstr("a.greedy_logits"));
  EXPECT_THAT(spoilt("b.logits_rows", owned_ids({3, 1})), HasSubstr("must ascend"));
  EXPECT_THAT(spoilt("b.logits_rows", owned_ids({1, 4})), HasSubstr("holds 4"));
  record_ = good;
  record_.erase("a.logits");
  EXPECT_THAT(read_error(), HasSubstr("\"a.logits\" is missing"));
  record_.clear();
  record_["x"] = owned_ids({1});
  EXPECT_THAT(read_error(), HasSubstr("holds no case"));
}

}  // namespace
}  // namespace deltaserve
