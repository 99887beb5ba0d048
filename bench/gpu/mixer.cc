// The attention mixer of a decode step, norms, rotation and KV write included, in one launch
// (rope_attention) beside two: alone, and between the two matrices of its layer. Times of the 27B
// (24 heads, 4 kv heads, H 5,120) and the 35B-A3B (16, 2, 2,048).
#include <algorithm>
#include <cmath>
#include <vector>

#include "attention_case.h"
#include "few_rows.h"
#include "graph_timer.h"

namespace deltaserve::bench {
namespace {

constexpr int32_t kHeadDim = 256;
constexpr int32_t kRotary = 64;

struct MixerShape {
  const char* name;
  int32_t heads;
  int32_t kv_heads;
  int64_t hidden;

  int64_t queries() const { return int64_t{2} * heads * kHeadDim; }
  int64_t keys() const { return int64_t{kv_heads} * kHeadDim; }
  int64_t projected() const { return queries() + 2 * keys(); }
  int64_t values() const { return int64_t{heads} * kHeadDim; }
};

// A row's blocks lie among those of the other rows.
std::vector<std::vector<int32_t>> tables(int32_t rows, int32_t context) {
  std::vector<std::vector<int32_t>> all;
  // Rows of the table are padded as those of a step are.
  int32_t width = 1;
  while (width < context / kBlockSize + 1) {
    width *= 2;
  }
  for (int32_t s = 0; s < rows; ++s) {
    all.emplace_back();
    for (int32_t b = 0; b < width; ++b) {
      all.back().push_back(std::min(b, context / kBlockSize) * rows + s);
    }
  }
  return all;
}

std::vector<AttentionRows> decoded(int32_t rows, int32_t context) {
  std::vector<AttentionRows> all;
  for (int32_t s = 0; s < rows; ++s) {
    all.push_back({s, context, 1, true});
  }
  return all;
}

class Mixers {
 public:
  Mixers(CudaContext& context, const MixerShape& shape, int32_t rows, int32_t length)
      : context_(context),
        shape_(shape),
        length_(length),
        num_rows_(rows),
        rows_(decoded(rows, length), tables(rows, length)),
        pattern_(kX, 17, 0.02F),
        x_(pattern_.make(rows * shape.hidden)),
        projected_(pattern_.make(rows * shape.projected())),
        values_(static_cast<size_t>(rows * shape.values()) * sizeof(BFloat16)),
        out_(static_cast<size_t>(rows * shape.hidden) * sizeof(float)),
        weight_(to_device(DType::kF32, random_values(kHeadDim, 5, 0.2F))),
        freq_(to_device(DType::kF32, random_values(kRotary / 2, 6, 0.5F))),
        axis_(kRotary / 2) {
    check_cuda(cudaMemset(axis_.data(), 0, axis_.bytes()));
    const int64_t elements = cache_elements();
    // Enough caches that none is still in the second-level cache.
    const auto layers = std::clamp<int64_t>((int64_t{300} << 20) / (elements * 2), 2, 40);
    for (int64_t i = 0; i < layers; ++i) {
      caches_.push_back(pattern_.make(elements));
    }
  }

  void time() {
    for (const bool fused : {false, true}) {
      const auto work = [&] {
        for (const CudaMemory& cache : caches_) mix(cache, fused);
      };
      report(work, fused, "", static_cast<double>(cache_elements()) * 2);
    }
  }

  void time_between_matrices() {
    std::vector<CudaLinear> in;
    std::vector<CudaLinear> out;
    for (size_t i = 0; i < caches_.size(); ++i) {
      in.push_back(make_linear(pattern_, shape_.projected(), shape_.hidden));
      out.push_back(make_linear(pattern_, shape_.hidden, shape_.values()));
    }
    for (const bool fused : {false, true}) {
      const auto work = [&] {
        for (size_t i = 0; i < caches_.size(); ++i) {
          launch_linear(context_, {.M = num_rows_,
                                   .x = x_.data(),
                                   .x_stride = shape_.hidden,
                                   .weight = &in[i],
                                   .out = projected_.data(),
                                   .out_stride = shape_.projected()});
          mix(caches_[i], fused);
          launch_linear(context_, {.M = num_rows_,
                                   .x = values_.data(),
                                   .x_stride = shape_.values(),
                                   .weight = &out[i],
                                   .out = out_.data(),
                                   .out_stride = shape_.hidden,
                                   .out_float = true});
        }
      };
      report(work, fused, " between its matrices",
             static_cast<double>(cache_elements() +
                                 (shape_.projected() + shape_.values()) * shape_.hidden) *
                 2);
    }
  }

 private:
  int64_t cache_elements() const {
    return int64_t{num_rows_} * (length_ / kBlockSize + 1) * kBlockSize * 2 * shape_.keys();
  }

  template <typename Work>
  void report(const Work& work, bool fused, const char* where, double bytes) {
    work();
    const double us = graph_microseconds(context_, work, 15) / static_cast<double>(caches_.size());
    print_time(std::string(shape_.name) + " mixer" + where + ", " + std::to_string(num_rows_) +
                   " x " + std::to_string(length_) + (fused ? ", one launch" : ", two"),
               us, bytes / kCopyBytes * 1e6);
  }

  void mix(const CudaMemory& cache, bool fused) {
    auto* const q = static_cast<BFloat16*>(projected_.data());
    const int64_t stride = shape_.projected();
    const QkNormRopeArgs rotation = {.batch = &rows_.view(),
                                     .num_heads = shape_.heads,
                                     .num_kv_heads = shape_.kv_heads,
                                     .head_dim = kHeadDim,
                                     .rotary_dim = kRotary,
                                     .q = q,
                                     .q_stride = stride,
                                     .q_head_stride = 2 * kHeadDim,
                                     .k = q + shape_.queries(),
                                     .k_stride = stride,
                                     .q_weight = static_cast<const float*>(weight_.data()),
                                     .k_weight = static_cast<const float*>(weight_.data()),
                                     .inv_freq = static_cast<const float*>(freq_.data()),
                                     .mrope_axis = static_cast<const uint8_t*>(axis_.data())};
    const WriteKvArgs writing = {.batch = &rows_.view(),
                                 .num_kv_heads = shape_.kv_heads,
                                 .head_dim = kHeadDim,
                                 .k = q + shape_.queries(),
                                 .v = q + shape_.queries() + shape_.keys(),
                                 .kv_stride = stride,
                                 .kv_cache = cache.data()};
    const AttentionArgs attention = {.batch = &rows_.view(),
                                     .num_heads = shape_.heads,
                                     .num_kv_heads = shape_.kv_heads,
                                     .head_dim = kHeadDim,
                                     .scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim)),
                                     .q = q,
                                     .gate = q + kHeadDim,
                                     .q_stride = stride,
                                     .q_head_stride = 2 * kHeadDim,
                                     .kv_cache = cache.data(),
                                     .out = values_.data(),
                                     .out_stride = shape_.values()};
    if (!fused || !launch_rope_attention(context_, rotation, writing, attention)) {
      launch_qk_norm_rope_write_kv(context_, rotation, writing);
      launch_attention(context_, attention);
    }
  }

  CudaContext& context_;
  MixerShape shape_;
  int32_t length_;
  int32_t num_rows_;
  DeviceRows rows_;
  Pattern pattern_;
  CudaMemory x_, projected_, values_, out_, weight_, freq_, axis_;
  std::vector<CudaMemory> caches_;
};

}  // namespace

void time_mixer(CudaContext& context) {
  for (const MixerShape& shape :
       {MixerShape{"27B", 24, 4, 5120}, MixerShape{"35B-A3B", 16, 2, 2048}}) {
    for (const int32_t rows : {1, 2, 4, 8}) {
      Mixers(context, shape, rows, 1024).time();
    }
    for (const int32_t length : {100, 2040, 4090, 8190, 16380}) {
      Mixers(context, shape, 1, length).time();
    }
    Mixers(context, shape, 1, 1024).time_between_matrices();
  }
}

}  // namespace deltaserve::bench
