// vision_attention on CUDA: both tensor core forms against float64, and their times for a part of a
// picture, 1,024 rows of a layer of the 27B's tower (16 heads of 72).
#include <cmath>
#include <string>

#include "backends/cuda/vision_ops.h"
#include "graph_timer.h"
#include "kernel_case.h"

namespace deltaserve::bench {
namespace {

using Launch = void (*)(const CudaContext&, const VisionAttentionArgs&);
struct Form {
  const char* name;
  Launch launch;
};
constexpr Form kForms[] = {{"mma", launch_vision_tiles}, {"wgmma", launch_vision_wgmma}};

constexpr int32_t kHeads = 16;
constexpr int32_t kHeadDim = 72;
constexpr int64_t kWidth = int64_t{kHeads} * kHeadDim;

// The first `rows` rows of one picture of `keys` patches.
class PictureCase {
 public:
  PictureCase(int32_t rows, int32_t keys)
      : qkv(pattern.make(int64_t{keys} * 3 * kWidth)),
        out(static_cast<size_t>(rows * kWidth) * sizeof(BFloat16)),
        segments_(to_device({0, rows, 0, keys})),
        args_{.num_segments = 1,
              .num_queries = rows,
              .num_keys = keys,
              .max_queries = rows,
              .max_keys = keys,
              .cu_queries = static_cast<const int32_t*>(segments_.data()),
              .cu_keys = static_cast<const int32_t*>(segments_.data()) + 2,
              .num_heads = kHeads,
              .head_dim = kHeadDim,
              .scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim)),
              .q = qkv.data(),
              .q_stride = 3 * kWidth,
              .k = static_cast<const BFloat16*>(qkv.data()) + kWidth,
              .v = static_cast<const BFloat16*>(qkv.data()) + 2 * kWidth,
              .kv_stride = 3 * kWidth,
              .out = out.data(),
              .out_stride = kWidth} {}

  const VisionAttentionArgs& args() const { return args_; }

  // One row of one head, in float64.
  std::vector<double> expected(int64_t row, int64_t head) const {
    const auto at = [&](int64_t t, int64_t part, int64_t d) {
      return static_cast<double>(pattern[(t * 3 + part) * kWidth + head * kHeadDim + d]);
    };
    std::vector<double> scores;
    for (int64_t j = 0; j < args_.num_keys; ++j) {
      double dot = 0.0;
      for (int64_t d = 0; d < kHeadDim; ++d) {
        dot += at(row, 0, d) * at(j, 1, d);
      }
      scores.push_back(dot * static_cast<double>(args_.scale));
    }
    const double largest = *std::ranges::max_element(scores);
    double total = 0.0;
    std::vector<double> sums(kHeadDim);
    for (int64_t j = 0; j < args_.num_keys; ++j) {
      const double weight = std::exp(scores[static_cast<size_t>(j)] - largest);
      total += weight;
      for (int64_t d = 0; d < kHeadDim; ++d) {
        sums[static_cast<size_t>(d)] += weight * at(j, 2, d);
      }
    }
    for (double& sum : sums) {
      sum /= total;
    }
    return sums;
  }

  const Pattern pattern{DType::kBF16, 61, 3.0F};
  const CudaMemory qkv;
  const CudaMemory out;

 private:
  CudaMemory segments_;
  VisionAttentionArgs args_;
};

}  // namespace

void check_vision(CudaContext& context) {
  for (const int32_t keys : {1, 65, 256, 1000, 8160}) {
    const int32_t rows = std::min(keys, 1024);
    const PictureCase picture(rows, keys);
    for (const Form& form : kForms) {
      form.launch(context, picture.args());
      const std::vector<float> out =
          to_host(DType::kBF16, picture.out.data(), static_cast<size_t>(rows * kWidth));
      Error error;
      for (const int64_t row : {0, rows / 3, rows - 1}) {
        for (const int64_t head : {0, 7, kHeads - 1}) {
          const std::vector<double> expected = picture.expected(row, head);
          for (int64_t d = 0; d < kHeadDim; ++d) {
            const int64_t at = row * kWidth + head * kHeadDim + d;
            error.add(out[static_cast<size_t>(at)], expected[static_cast<size_t>(d)], at);
          }
        }
      }
      error.report(std::string(form.name) + ", " + std::to_string(keys) + " keys", 5e-3);
    }
  }
}

void time_vision(CudaContext& context) {
  for (const int32_t keys : {256, 8160, 65536}) {
    const int32_t rows = std::min(keys, 1024);
    const PictureCase picture(rows, keys);
    const double floor = 4.0 * rows * keys * static_cast<double>(kWidth) / kTensorFlops * 1e6;
    for (const Form& form : kForms) {
      const auto work = [&] { form.launch(context, picture.args()); };
      work();
      print_time(
          std::string(form.name) + ", " + std::to_string(rows) + " rows of " + std::to_string(keys),
          graph_microseconds(context, work, 9), floor);
    }
  }
}

}  // namespace deltaserve::bench
