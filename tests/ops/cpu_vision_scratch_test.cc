// The scratch of the vision tower's attention is part of the memory plan: what is reserved before
// the first picture is enough for the largest frame and for any company of small ones.
#include <gtest/gtest.h>

#include <vector>

#include "backends/cpu/vision_ops.h"
#include "cpu_test_util.h"

namespace deltaserve {
namespace {

constexpr int64_t kRows = 1024;  // of a part

// One query row of each segment against all of its keys.
void attend(CpuContext& context, const VisionShape& shape, const std::vector<int32_t>& segments) {
  VisionAttentionArgs args;
  std::vector<int32_t> queries = {0};
  std::vector<int32_t> keys = {0};
  for (const int32_t count : segments) {
    queries.push_back(queries.back() + 1);
    keys.push_back(keys.back() + count);
    args.max_keys = std::max(args.max_keys, count);
  }
  args.num_segments = static_cast<int32_t>(segments.size());
  args.num_queries = queries.back();
  args.num_keys = keys.back();
  args.max_queries = 1;
  args.cu_queries = queries.data();
  args.cu_keys = keys.data();
  args.num_heads = shape.num_heads;
  args.head_dim = shape.head_dim;
  args.scale = 1.0F;
  const int64_t width = int64_t{shape.num_heads} * shape.head_dim;
  const std::vector<std::byte> rows(static_cast<size_t>(args.num_keys * width) * sizeof(float));
  std::vector<std::byte> out(static_cast<size_t>(args.num_queries * width) * sizeof(float));
  args.q = args.k = args.v = rows.data();
  args.q_stride = args.kv_stride = args.out_stride = width;
  args.out = out.data();
  cpu_vision_attention(context, args);
}

TEST(CpuVisionScratch, IsReservedForTheLargestFrameAndAnySmallOnes) {
  struct Case {
    VisionShape shape;
    int32_t patches;
  };
  for (const DType x : {DType::kF32, DType::kBF16}) {
    for (const Case& c :
         {Case{{3, 16}, 64}, {{16, 72}, 1000}, {{16, 72}, 5000}, {{2, 72}, 40000}}) {
      CpuContext context(x, detect_cpu_isa(), 2);
      StepLimits limits;
      limits.max_frame_patches = c.patches;
      limits.max_vision_rows = kRows;
      limits.vision = c.shape;
      const auto reserved = static_cast<size_t>(cpu_vision_scratch_bytes(x, limits));
      context.require_shared_scratch(reserved);
      attend(context, c.shape, {c.patches});
      attend(context, c.shape, std::vector<int32_t>(kRows, 1));
      attend(context, c.shape, std::vector<int32_t>(kRows / 4, 4));
      attend(context, c.shape, {24, 1, 500, 77});
      EXPECT_EQ(context.shared_scratch_bytes(), reserved) << c.patches;
    }
  }
}

TEST(CpuVisionScratch, IsPartOfWhatABackendSays) {
  const auto backend = make_cpu_backend({.compute_dtype = DType::kBF16, .threads = 1}).value();
  StepLimits limits;
  EXPECT_EQ(backend->scratch_bytes(limits), 0);
  limits.max_frame_patches = 65536;
  limits.max_vision_rows = kRows;
  limits.vision = {.num_heads = 16, .head_dim = 72};
  // Keys and values of one head of 72, padded to 80 or more.
  EXPECT_GE(backend->scratch_bytes(limits), int64_t{2} * 65536 * 72 * 2);
  EXPECT_LE(backend->scratch_bytes(limits), int64_t{2} * 65536 * 96 * 2);
  EXPECT_TRUE(backend->reserve(limits));
}

}  // namespace
}  // namespace deltaserve
