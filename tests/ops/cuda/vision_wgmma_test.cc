// The vision attention of sm_90a by wgmma, called directly, against the reference: sizes around
// tiles, several segments, parts of a segment's rows, extreme scores, NaN beside a segment.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/cuda/vision_ops.h"
#include "conformance.h"
#include "ops/reference/reference_ops.h"

namespace deltaserve {
namespace {

struct Picture {
  std::vector<int32_t> keys;  // of each segment
  int32_t heads = 3;
  int32_t head_dim = 72;
  float scale = 1.5F;  // of q, k and v
  // Query rows [begin, end) of segment `part`; -1: all rows of all segments.
  int32_t part = -1;
  int32_t begin = 0;
  int32_t end = 0;
};

class VisionWgmma : public testing::Test {
 protected:
  // The arguments over `qkv` [rows, 3, heads, head_dim], `segments` [cu_queries, cu_keys] and
  // `out`, all in one kind of memory.
  static VisionAttentionArgs args_of(const Picture& picture, const std::vector<int32_t>& segments,
                                     const void* qkv, const int32_t* memory, void* out) {
    const auto count = static_cast<int32_t>(picture.keys.size());
    const int64_t width = int64_t{picture.heads} * picture.head_dim;
    const auto* rows = static_cast<const BFloat16*>(qkv);
    const int32_t first =
        picture.part < 0 ? 0
                         : segments[static_cast<size_t>(count + 1 + picture.part)] + picture.begin;
    VisionAttentionArgs args = {.num_segments = count,
                                .num_queries = segments[static_cast<size_t>(count)],
                                .num_keys = segments.back(),
                                .cu_queries = memory,
                                .cu_keys = memory + count + 1,
                                .num_heads = picture.heads,
                                .head_dim = picture.head_dim,
                                .scale = 1.0F / std::sqrt(static_cast<float>(picture.head_dim)),
                                .q = rows + first * 3 * width,
                                .q_stride = 3 * width,
                                .k = rows + width,
                                .v = rows + 2 * width,
                                .kv_stride = 3 * width,
                                .out = out,
                                .out_stride = width};
    for (const int32_t keys : picture.keys) {
      args.max_keys = std::max(args.max_keys, keys);
    }
    args.max_queries = picture.part < 0 ? args.max_keys : picture.end - picture.begin;
    return args;
  }

  static std::vector<int32_t> segments_of(const Picture& picture) {
    std::vector<int32_t> queries = {0};
    std::vector<int32_t> keys = {0};
    for (size_t s = 0; s < picture.keys.size(); ++s) {
      const bool chosen = static_cast<int32_t>(s) == picture.part;
      const int32_t rows =
          picture.part < 0 ? picture.keys[s] : (chosen ? picture.end - picture.begin : 0);
      queries.push_back(queries.back() + rows);
      keys.push_back(keys.back() + picture.keys[s]);
    }
    queries.insert(queries.end(), keys.begin(), keys.end());
    return queries;
  }

  static std::vector<BFloat16> values_of(const Picture& picture) {
    const int64_t rows = segments_of(picture).back();
    std::vector<BFloat16> values;
    for (const float value : random_values(
             static_cast<size_t>(rows * 3 * picture.heads * picture.head_dim), 1, picture.scale)) {
      values.push_back(to_bfloat16(value));
    }
    return values;
  }

  static std::vector<float> floats_of(const std::vector<BFloat16>& values) {
    std::vector<float> floats;
    for (const BFloat16 value : values) {
      floats.push_back(to_float(value));
    }
    return floats;
  }

  static size_t out_size(const Picture& picture, const std::vector<int32_t>& segments) {
    return static_cast<size_t>(segments[picture.keys.size()] * picture.heads * picture.head_dim);
  }

  std::vector<float> run(const Picture& picture, const std::vector<BFloat16>& qkv) {
    const std::vector<int32_t> segments = segments_of(picture);
    std::vector<BFloat16> out(out_size(picture, segments));
    const CudaMemory rows(qkv.size() * sizeof(BFloat16));
    const CudaMemory bounds(segments.size() * sizeof(int32_t));
    const CudaMemory result(out.size() * sizeof(BFloat16));
    check_cuda(cudaMemcpy(rows.data(), qkv.data(), rows.bytes(), cudaMemcpyHostToDevice));
    check_cuda(cudaMemcpy(bounds.data(), segments.data(), bounds.bytes(), cudaMemcpyHostToDevice));
    check_cuda(cudaMemset(result.data(), 0xff, result.bytes()));  // NaN
    check_cuda(cudaDeviceSynchronize());
    const VisionAttentionArgs args = args_of(picture, segments, rows.data(),
                                             static_cast<int32_t*>(bounds.data()), result.data());
    EXPECT_TRUE(serves_vision_wgmma(context_, args));
    launch_vision_wgmma(context_, args);
    check_cuda(cudaStreamSynchronize(context_.stream));
    check_cuda(cudaMemcpy(out.data(), result.data(), result.bytes(), cudaMemcpyDeviceToHost));
    return floats_of(out);
  }

  static std::vector<float> expected(const Picture& picture, const std::vector<BFloat16>& qkv) {
    const std::vector<int32_t> segments = segments_of(picture);
    std::vector<BFloat16> out(out_size(picture, segments));
    reference::vision_attention(
        DType::kBF16, args_of(picture, segments, qkv.data(), segments.data(), out.data()));
    return floats_of(out);
  }

  // On a device that has no wgmma: that the kernel does not offer itself.
  bool has_wgmma() {
    if (context_.device.arch == 90) {
      return true;
    }
    const Picture picture{.keys = {64}};
    EXPECT_FALSE(serves_vision_wgmma(
        context_, args_of(picture, segments_of(picture), nullptr, nullptr, nullptr)));
    return false;
  }

  // Weights enter the second product rounded to bfloat16: half a unit of 2^-8 each.
  void expect_right(const Picture& picture, const std::string& what) {
    const std::vector<BFloat16> qkv = values_of(picture);
    expect_close(run(picture, qkv), expected(picture, qkv), x_tolerance(DType::kBF16), 0.01, what);
  }

  CudaContext context_{DType::kBF16, 0};
};

TEST_F(VisionWgmma, SizesAroundTiles) {
  if (!has_wgmma()) return;
  for (const int32_t head_dim : {64, 72, 80, 16, 8}) {
    for (const int32_t keys : {1, 8, 63, 64, 65, 127, 128, 129, 255, 257, 512, 513, 640, 1000}) {
      expect_right({.keys = {keys}, .heads = 2, .head_dim = head_dim},
                   std::to_string(keys) + " keys, heads of " + std::to_string(head_dim));
    }
  }
}

TEST_F(VisionWgmma, Segments) {
  if (!has_wgmma()) return;
  for (const int32_t head_dim : {64, 72}) {
    expect_right({.keys = {1, 77, 4, 130, 256, 1, 300}, .heads = 3, .head_dim = head_dim},
                 "segments");
    expect_right({.keys = {256, 196}, .heads = 16, .head_dim = head_dim}, "two frames");
  }
}

// A row's bits depend on its segment only.
TEST_F(VisionWgmma, PartsOfASegment) {
  if (!has_wgmma()) return;
  const Picture whole{.keys = {40, 700, 12}, .heads = 2};
  const std::vector<BFloat16> qkv = values_of(whole);
  const std::vector<float> all = run(whole, qkv);
  expect_close(all, expected(whole, qkv), x_tolerance(DType::kBF16), 0.01, "whole");
  const int64_t width = int64_t{whole.heads} * whole.head_dim;
  for (const auto& [begin, end] :
       {std::pair{0, 1}, std::pair{0, 700}, std::pair{95, 192}, std::pair{350, 613}}) {
    Picture part = whole;
    part.part = 1;
    part.begin = begin;
    part.end = end;
    expect_same_bits(run(part, qkv),
                     {all.begin() + (40 + begin) * width, all.begin() + (40 + end) * width},
                     "rows " + std::to_string(begin) + " to " + std::to_string(end));
  }
}

// Scores of some thousands: all weight on one key, and a running maximum that jumps.
TEST_F(VisionWgmma, ExtremeScores) {
  if (!has_wgmma()) return;
  const Picture picture{.keys = {300, 129}, .heads = 2};
  std::vector<BFloat16> qkv = values_of(picture);
  const auto width = static_cast<size_t>(picture.heads * picture.head_dim);
  for (size_t i = 0; i < qkv.size(); ++i) {
    if (i % (3 * width) < 2 * width) {
      qkv[i] = to_bfloat16(to_float(qkv[i]) * 20.0F);
    }
  }
  expect_close(run(picture, qkv), expected(picture, qkv), x_tolerance(DType::kBF16), 0.03, "large");
  for (size_t i = 0; i < qkv.size(); ++i) {
    if (i % (3 * width) < width) {
      qkv[i] = to_bfloat16(0.0F);
    }
  }
  expect_close(run(picture, qkv), expected(picture, qkv), x_tolerance(DType::kBF16), 0.01, "equal");
}

// Neither keys and values of the segments beside it nor other heads reach a row.
TEST_F(VisionWgmma, NanStaysInItsSegmentAndHead) {
  if (!has_wgmma()) return;
  const Picture picture{.keys = {50, 130, 200}, .heads = 3};
  std::vector<BFloat16> qkv = values_of(picture);
  const auto width = static_cast<size_t>(picture.heads * picture.head_dim);
  const auto head_dim = static_cast<size_t>(picture.head_dim);
  const BFloat16 nan = to_bfloat16(std::numeric_limits<float>::quiet_NaN());
  for (size_t row = 50; row < 180; ++row) {
    for (size_t d = 0; d < 3 * width; ++d) {
      if (d % width / head_dim == 1) {
        qkv[row * 3 * width + d] = nan;
      }
    }
  }
  expect_close(run(picture, qkv), expected(picture, qkv), x_tolerance(DType::kBF16), 0.01, "out");
}

}  // namespace
}  // namespace deltaserve
