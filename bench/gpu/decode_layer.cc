// An attention layer of the 35B-A3B for one token after 1,024 others as a decode step has it: norm,
// projection, rotation, KV write and attention in three launches, two or one, output projection and
// the block of experts.
#include <cmath>
#include <vector>

#include "attention_case.h"
#include "expert_block_case.h"
#include "few_rows.h"
#include "graph_timer.h"

namespace deltaserve::bench {
namespace {

constexpr int32_t kHeads = 16;
constexpr int32_t kKvHeads = 2;
constexpr int32_t kHeadDim = 256;
constexpr int32_t kRotary = 64;
constexpr int64_t kQueries = 2 * kHeads * kHeadDim;  // with the gates
constexpr int64_t kKeys = kKvHeads * kHeadDim;
constexpr int64_t kProjected = kQueries + 2 * kKeys;
constexpr int64_t kValues = kHeads * kHeadDim;
constexpr int32_t kContext = 1024;

enum class Launches { kOne, kTwo, kThree };  // of the mixer

struct LayerWeights {
  CudaLinear in;
  CudaLinear out;
  CudaMemory cache;
  BlockWeights block;

  explicit LayerWeights(const Pattern& pattern, uint64_t seed)
      : in(make_linear(pattern, kProjected, kHidden)),
        out(make_linear(pattern, kHidden, kValues)),
        cache(pattern.make((kContext / kBlockSize + 1) * kBlockSize * 2 * kKeys)),
        block(seed) {}
};

class DecodeLayers {
 public:
  explicit DecodeLayers(CudaContext& context)
      : context_(context),
        rows_({{0, kContext, 1, true}}, {blocks()}),
        tokens_(1),
        projected_(static_cast<size_t>(kProjected) * sizeof(BFloat16)),
        values_(static_cast<size_t>(kValues) * sizeof(BFloat16)),
        weight_(to_device(DType::kF32, random_values(kHeadDim, 5, 0.2F))),
        freq_(to_device(DType::kF32, random_values(kRotary / 2, 6, 0.5F))),
        axis_(kRotary / 2) {
    check_cuda(cudaMemset(axis_.data(), 0, axis_.bytes()));
    const Pattern pattern(kX, 17, 0.02F);
    for (uint64_t i = 0; i < kLayers; ++i) {
      layers_.emplace_back(pattern, 60 + 2 * i);
    }
  }

  void time(const char* name, Launches launches) {
    const auto work = [&] {
      for (const LayerWeights& layer : layers_) run(layer, launches);
    };
    work();
    const double us = graph_microseconds(context_, work, 15) / kLayers;
    const double bytes =
        2.0 * static_cast<double>((kProjected + kValues) * kHidden + 2 * kKeys * kContext +
                                  (kChosen + 1) * 3 * kWidth * kHidden + (kExperts + 1) * kHidden);
    print_time(std::string("35B layer of attention, one token, ") + name, us,
               bytes / kCopyBytes * 1e6);
  }

 private:
  static constexpr int kLayers = 6;

  static std::vector<int32_t> blocks() {
    std::vector<int32_t> all;
    for (int32_t b = 0; b <= kContext / kBlockSize; ++b) all.push_back(b);
    return all;
  }

  void run(const LayerWeights& layer, Launches launches) {
    const MoeBlockArgs block = tokens_.args(layer.block, 0, 1);
    launch_add_rms_norm(context_, {.T = 1,
                                   .H = kHidden,
                                   .residual = block.residual,
                                   .weight = block.norm_weight,
                                   .eps = block.eps,
                                   .out = block.x});
    launch_linear(context_, {.M = 1,
                             .x = block.x,
                             .x_stride = kHidden,
                             .weight = &layer.in,
                             .out = projected_.data(),
                             .out_stride = kProjected});
    attend(layer, launches);
    launch_linear(context_, {.M = 1,
                             .x = values_.data(),
                             .x_stride = kValues,
                             .weight = &layer.out,
                             .out = const_cast<float*>(block.delta),
                             .out_stride = kHidden,
                             .out_float = true});
    launch_moe_block(context_, block);
  }

  void attend(const LayerWeights& layer, Launches launches) {
    auto* const q = static_cast<BFloat16*>(projected_.data());
    const QkNormRopeArgs rotation = {.batch = &rows_.view(),
                                     .num_heads = kHeads,
                                     .num_kv_heads = kKvHeads,
                                     .head_dim = kHeadDim,
                                     .rotary_dim = kRotary,
                                     .q = q,
                                     .q_stride = kProjected,
                                     .q_head_stride = 2 * kHeadDim,
                                     .k = q + kQueries,
                                     .k_stride = kProjected,
                                     .q_weight = static_cast<const float*>(weight_.data()),
                                     .k_weight = static_cast<const float*>(weight_.data()),
                                     .inv_freq = static_cast<const float*>(freq_.data()),
                                     .mrope_axis = static_cast<const uint8_t*>(axis_.data())};
    const WriteKvArgs writing = {.batch = &rows_.view(),
                                 .num_kv_heads = kKvHeads,
                                 .head_dim = kHeadDim,
                                 .k = q + kQueries,
                                 .v = q + kQueries + kKeys,
                                 .kv_stride = kProjected,
                                 .kv_cache = layer.cache.data()};
    const AttentionArgs attention = {.batch = &rows_.view(),
                                     .num_heads = kHeads,
                                     .num_kv_heads = kKvHeads,
                                     .head_dim = kHeadDim,
                                     .scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim)),
                                     .q = q,
                                     .gate = q + kHeadDim,
                                     .q_stride = kProjected,
                                     .q_head_stride = 2 * kHeadDim,
                                     .kv_cache = layer.cache.data(),
                                     .out = values_.data(),
                                     .out_stride = kValues};
    if (launches == Launches::kOne &&
        launch_rope_attention(context_, rotation, writing, attention)) {
      return;
    }
    if (launches == Launches::kThree) {
      launch_qk_norm_rope(context_, rotation);
      launch_write_kv(context_, writing);
    } else {
      launch_qk_norm_rope_write_kv(context_, rotation, writing);
    }
    launch_attention(context_, attention);
  }

  CudaContext& context_;
  DeviceRows rows_;
  BlockTokens tokens_;
  CudaMemory projected_, values_, weight_, freq_, axis_;
  std::vector<LayerWeights> layers_;
};

}  // namespace

void time_decode_layer(CudaContext& context) {
  DecodeLayers layers(context);
  layers.time("mixer of three launches", Launches::kThree);
  layers.time("of two", Launches::kTwo);
  layers.time("of one", Launches::kOne);
}

}  // namespace deltaserve::bench
