// A prompt with a video and a picture against transformers: the tower's embeddings frame by frame,
// positions, logits and greedy ids, however the prompt is cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "backends/cpu/cpu_backend.h"
#include "model/golden_cases.h"
#include "model/model.h"
#include "model/verify.h"
#include "ops/reference/reference_backend.h"
#include "tensor/checkpoint.h"

namespace deltaserve {
namespace {

void expect_video(Backend& backend, const VerifyOptions& options) {
  const auto folder = std::filesystem::path(DELTASERVE_TEST_DATA) / "goldens" / "qwen3_5-dense";
  const auto checkpoint = Checkpoint::open(folder);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  const auto model = load_model(**checkpoint, backend);
  ASSERT_TRUE(model) << model.error().message;
  const auto file = SafetensorsFile::open(folder / "video.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  const auto cases = read_golden_cases(**file, (*model)->config());
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_EQ(cases->size(), 1U);
  EXPECT_TRUE(cases->front().items.front()->is_video);
  const auto report = verify_model(**model, *cases, options);
  ASSERT_TRUE(report) << report.error().message;
  const CaseReport& result = report->cases.front();
  EXPECT_EQ(report->num_passed, 1);
  EXPECT_GT(result.vision.count, 0);
  EXPECT_LT(result.vision.max_abs, 1e-4);
  EXPECT_LT(result.logits.max_abs, 1e-3);
  EXPECT_EQ(result.num_ids_equal, result.num_ids);
  EXPECT_EQ(result.num_positions_wrong, 0);
}

TEST(VideoGoldens, ReferenceEqualsTransformers) {
  expect_video(*make_reference_backend(DType::kF32), {});
}

TEST(VideoGoldens, CpuEqualsTransformersHoweverThePromptIsCut) {
  const auto backend = make_cpu_backend({.compute_dtype = DType::kF32, .threads = 2});
  ASSERT_TRUE(backend) << backend.error().message;
  for (const int32_t chunk : {0, 1, 7, 16}) {
    SCOPED_TRACE(chunk);
    VerifyOptions options;
    options.chunk = chunk;
    expect_video(**backend, options);
  }
}

}  // namespace
}  // namespace deltaserve
