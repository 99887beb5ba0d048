// Every recorded case through a backend: float32 to 1e-3 in logits and hidden states, and to
// 1e-4 in the embeddings of pictures, with equal greedy ids, however the prompt is cut and whatever
// shares the batch; bfloat16 with the recorded ids wherever the record is not nearly a tie.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "model/golden_cases.h"
#include "model/model.h"
#include "model/verify.h"
#include "ops/reference/reference_backend.h"
#include "tensor/checkpoint.h"

namespace deltaserve {
namespace {

constexpr const char* kCheckpoints[] = {"qwen3_5-dense", "qwen3_5-moe", "qwen3_next",
                                        "qwen3_5-wide"};

// bfloat16 rounds every activation to 8 bits. In a random model that can flip a router's choice,
// and then single logits differ by their own size; what must hold is the mean error, and the ids:
// equal wherever the record's best two are 0.05 apart, with pictures 0.06 (features are rounded
// too).
constexpr double kBFloat16Rms = 0.1;

VerifyOptions bfloat16_options() {
  return {.tolerance = 2.0, .vision_tolerance = 0.1, .id_gap = 0.05, .vision_id_gap = 0.06};
}

std::filesystem::path golden_directory(const std::string& name) {
  return std::filesystem::path(DELTASERVE_TEST_DATA) / "goldens" / name;
}

std::string describe(const VerifyReport& report) {
  std::string text;
  for (const CaseReport& result : report.cases) {
    text += fmt::format(
        "{}: vision {:.3g}, logits {:.3g} rms {:.3g}, hidden {:.3g} rms {:.3g}, ids {} of {} "
        "equal, "
        "{} wrong, {} positions wrong\n",
        result.name, result.vision.max_abs, result.logits.max_abs, result.logits.rms(),
        result.hidden.max_abs, result.hidden.rms(), result.num_ids_equal, result.num_ids,
        result.num_ids_wrong, result.num_positions_wrong);
  }
  return text;
}

void expect_golden(const std::string& checkpoint_name, Backend& backend,
                   const VerifyOptions& options) {
  const auto checkpoint = Checkpoint::open(golden_directory(checkpoint_name));
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  const auto model = load_model(**checkpoint, backend);
  ASSERT_TRUE(model) << model.error().message;
  const auto file = SafetensorsFile::open(golden_directory(checkpoint_name) / "cases.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  const auto cases = read_golden_cases(**file, (*model)->config());
  ASSERT_TRUE(cases) << cases.error().message;
  const bool has_image = std::ranges::any_of(*cases, &GoldenCase::needs_vision);
  const bool wants_image = checkpoint_name == "qwen3_5-dense" || checkpoint_name == "qwen3_5-wide";
  ASSERT_EQ(has_image, wants_image);
  const int32_t num_cases = wants_image ? 4 : 3;
  ASSERT_EQ(cases->size(), static_cast<size_t>(num_cases));
  const auto report = verify_model(**model, *cases, options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->num_passed, num_cases) << describe(*report);
  for (const CaseReport& result : report->cases) {
    EXPECT_EQ(result.vision.count > 0, result.name.starts_with("image")) << result.name;
  }
  if (backend.compute_dtype() == DType::kBF16) {
    for (const CaseReport& result : report->cases) {
      EXPECT_LT(result.logits.rms(), kBFloat16Rms) << describe(*report);
    }
  }
}

class ReferenceGoldens : public ::testing::TestWithParam<const char*> {};

TEST_P(ReferenceGoldens, WholePrompts) {
  expect_golden(GetParam(), *make_reference_backend(DType::kF32), {});
}

TEST_P(ReferenceGoldens, PackedInChunks) {
  expect_golden(GetParam(), *make_reference_backend(DType::kF32), {.chunk = 100, .packed = true});
}

// Under AddressSanitizer its plain loops take minutes over the wide checkpoint, which is the last;
// what is left there is ReferenceQuantized.
std::span<const char* const> reference_checkpoints() {
#ifdef __SANITIZE_ADDRESS__
  return std::span(kCheckpoints).first(std::size(kCheckpoints) - 1);
#else
  return kCheckpoints;
#endif
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, ReferenceGoldens,
                         ::testing::ValuesIn(reference_checkpoints()));

// Every instruction set that this machine has, the best one last.
std::vector<CpuIsa> cpu_isas() {
  std::vector<CpuIsa> isas;
  for (const CpuIsa isa : kCpuIsas) {
    if (make_cpu_backend({.compute_dtype = DType::kF32, .threads = 1, .isa = isa})) {
      isas.push_back(isa);
    }
  }
  return isas;
}

class CpuGoldens : public ::testing::TestWithParam<std::tuple<CpuIsa, const char*>> {
 protected:
  void expect(DType dtype, const VerifyOptions& options) {
    const auto& [isa, checkpoint] = GetParam();
    const auto backend = make_cpu_backend({.compute_dtype = dtype, .threads = 2, .isa = isa});
    ASSERT_TRUE(backend) << backend.error().message;
    expect_golden(checkpoint, **backend, options);
  }
};

std::string test_name(const ::testing::TestParamInfo<std::tuple<CpuIsa, const char*>>& test) {
  const auto& [isa, checkpoint] = test.param;
  std::string name = fmt::format("{}_{}", cpu_isa_name(isa), checkpoint);
  std::ranges::replace(name, '-', '_');
  return name;
}

TEST_P(CpuGoldens, WholePrompts) {
  expect(DType::kF32, {});
}
TEST_P(CpuGoldens, PackedInChunksOf100) {
  expect(DType::kF32, {.chunk = 100, .packed = true});
}
TEST_P(CpuGoldens, BFloat16) {
  expect(DType::kBF16, bfloat16_options());
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuGoldens,
                         ::testing::Combine(::testing::ValuesIn(cpu_isas()),
                                            ::testing::ValuesIn(kCheckpoints)),
                         test_name);

// How prompts are cut matters to the layers above the kernels: the best instruction set will do.
class CpuCuts : public CpuGoldens {};

TEST_P(CpuCuts, ChunksOf1) {
  expect(DType::kF32, {.chunk = 1});
}
TEST_P(CpuCuts, ChunksOf7) {
  expect(DType::kF32, {.chunk = 7});
}
TEST_P(CpuCuts, ChunksOf64) {
  expect(DType::kF32, {.chunk = 64});
}
TEST_P(CpuCuts, ChunksOf100) {
  expect(DType::kF32, {.chunk = 100});
}
TEST_P(CpuCuts, Packed) {
  expect(DType::kF32, {.packed = true});
}
TEST_P(CpuCuts, PackedInChunksOf7) {
  expect(DType::kF32, {.chunk = 7, .packed = true});
}
TEST_P(CpuCuts, BFloat16PackedInChunksOf64) {
  VerifyOptions options = bfloat16_options();
  options.chunk = 64;
  options.packed = true;
  expect(DType::kBF16, options);
}

INSTANTIATE_TEST_SUITE_P(BestIsa, CpuCuts,
                         ::testing::Combine(::testing::Values(detect_cpu_isa()),
                                            ::testing::ValuesIn(kCheckpoints)),
                         test_name);

}  // namespace
}  // namespace deltaserve
