// The parts of the vision tower: some rows of one stage each. Stages: 0 the patches' embedding and
// positions; 2 l + 1 the projections of block l; 2 l + 2 its attention and feed-forward network;
// the last one the merger. Every stage leaves the norm that the next one reads in `normed`.
#include <algorithm>
#include <cmath>
#include <span>

#include "base/check.h"
#include "model/vision_pixels.h"
#include "model/vision_tower.h"
#include "tensor/dtype.h"

namespace deltaserve {

void* VisionTower::at(const DeviceBuffer& buffer, int64_t element) const {
  return buffer.as<std::byte>() + element * dtype_size(backend_.compute_dtype());
}

void VisionTower::run_part(int64_t begin, int64_t end) {
  if (stage_ == 0) {
    embed(begin, end);
    return;
  }
  const VisionBlock& block = blocks_[static_cast<size_t>((stage_ - 1) / 2)];
  if (stage_ % 2 == 1) {
    project(block, begin, end);
  } else {
    finish_block(block, begin, end);
  }
}

void VisionTower::linear(const LinearWeight& weight, const DeviceBuffer& bias,
                         Activation activation, int64_t rows, const void* x, void* out,
                         bool out_float) {
  backend_.linear_bias({.linear = {.M = rows,
                                   .x = x,
                                   .x_stride = weight.K,
                                   .weight = &weight,
                                   .out = out,
                                   .out_stride = weight.N,
                                   .out_float = out_float},
                        .bias = bias.as<float>(),
                        .activation = activation});
}

void VisionTower::layer_norm(const DeviceBuffer& weight, const DeviceBuffer& bias, int64_t begin,
                             int64_t end, const float* delta) {
  backend_.add_layer_norm({.T = end - begin,
                           .H = config_.hidden_size,
                           .residual = residual_.as<float>() + begin * config_.hidden_size,
                           .delta = delta,
                           .weight = weight.as<float>(),
                           .bias = bias.as<float>(),
                           .out = at(normed_, begin * config_.hidden_size)});
}

void VisionTower::norm(int64_t block, int64_t begin, int64_t end, const float* delta) {
  if (block == static_cast<int64_t>(blocks_.size())) {
    layer_norm(merger_norm_weight_, merger_norm_bias_, begin, end, delta);
  } else {
    const VisionBlock& next = blocks_[static_cast<size_t>(block)];
    layer_norm(next.norm1_weight, next.norm1_bias, begin, end, delta);
  }
}

void VisionTower::embed(int64_t begin, int64_t end) {
  const int64_t hidden = config_.hidden_size;
  const auto side = static_cast<int32_t>(std::lround(std::sqrt(config_.num_position_embeddings)));
  const DType x_dtype = backend_.compute_dtype();
  for (size_t f = 0; f < pass_.size(); ++f) {
    const Frame& frame = pass_[f];
    const int64_t from = std::max(begin, frame.first) - frame.first;
    const int64_t to = std::min(end, frame.first + frame.count) - frame.first;
    if (from >= to) continue;
    const VisionItem& item = *frame.job->item;
    const int64_t rows = to - from;
    const int64_t first_patch = frame.index * frame.count + from;
    const std::span<std::byte> pixels =
        std::span(staging_).first(static_cast<size_t>(rows * patch_width() * dtype_size(x_dtype)));
    write_pixel_rows(item, first_patch, first_patch + rows, config_.temporal_patch_size, x_dtype,
                     pixels);
    backend_.copy_to_device(pixels_.data(), pixels.data(), pixels.size());
    const VisionTaps taps = make_vision_taps(grids_[f], from, to, item.grid_h, item.grid_w, side);
    backend_.copy_to_device(taps_.data(), taps.taps.data(), taps.taps.size() * sizeof(int32_t));
    backend_.copy_to_device(tap_weights_.data(), taps.weights.data(),
                            taps.weights.size() * sizeof(float));
    const int64_t first = frame.first + from;
    auto* residual = residual_.as<float>() + first * hidden;
    linear(*patch_embed_, patch_embed_bias_, Activation::kNone, rows, pixels_.data(), residual,
           true);
    backend_.add_positions({.T = rows,
                            .H = hidden,
                            .table = positions_.as<float>(),
                            .taps = taps_.as<int32_t>(),
                            .weights = tap_weights_.as<float>(),
                            .residual = residual});
    norm(0, first, first + rows, nullptr);
  }
}

void VisionTower::project(const VisionBlock& block, int64_t begin, int64_t end) {
  const int64_t hidden = config_.hidden_size;
  linear(*block.qkv, block.qkv_bias, Activation::kNone, end - begin, at(normed_, begin * hidden),
         at(qkv_, begin * 3 * hidden), false);
  backend_.vision_rope({.T = end - begin,
                        .num_heads = config_.num_heads,
                        .head_dim = config_.hidden_size / config_.num_heads,
                        .q = at(qkv_, begin * 3 * hidden),
                        .k = at(qkv_, begin * 3 * hidden + hidden),
                        .stride = 3 * hidden,
                        .rows = coordinates_.as<int32_t>() + begin,
                        .columns = coordinates_.as<int32_t>() + num_patches_ + begin,
                        .inv_freq = inv_freq_.as<float>()});
}

// The frames that rows [begin, end) belong to are the segments; their keys count from the first.
void VisionTower::attend(int64_t begin, int64_t end) {
  const int64_t hidden = config_.hidden_size;
  std::vector<int32_t> queries = {0};
  std::vector<int32_t> keys = {0};
  int64_t first_key = -1;
  VisionAttentionArgs args;
  for (const Frame& frame : pass_) {
    const int64_t rows = std::min(end, frame.first + frame.count) - std::max(begin, frame.first);
    if (rows <= 0) continue;
    if (first_key < 0) first_key = frame.first;
    queries.push_back(queries.back() + static_cast<int32_t>(rows));
    keys.push_back(keys.back() + static_cast<int32_t>(frame.count));
    args.max_queries = std::max(args.max_queries, static_cast<int32_t>(rows));
    args.max_keys = std::max(args.max_keys, static_cast<int32_t>(frame.count));
  }
  args.num_segments = static_cast<int32_t>(queries.size()) - 1;
  args.num_queries = queries.back();
  args.num_keys = keys.back();
  queries.insert(queries.end(), keys.begin(), keys.end());
  DS_CHECK(queries.size() * sizeof(int32_t) <= segments_.bytes());
  backend_.copy_to_device(segments_.data(), queries.data(), queries.size() * sizeof(int32_t));
  args.cu_queries = segments_.as<int32_t>();
  args.cu_keys = args.cu_queries + args.num_segments + 1;
  args.num_heads = config_.num_heads;
  args.head_dim = config_.hidden_size / config_.num_heads;
  args.scale = 1.0F / std::sqrt(static_cast<float>(args.head_dim));
  args.q = at(qkv_, begin * 3 * hidden);
  args.q_stride = 3 * hidden;
  args.k = at(qkv_, first_key * 3 * hidden + hidden);
  args.v = at(qkv_, first_key * 3 * hidden + 2 * hidden);
  args.kv_stride = 3 * hidden;
  args.out = attended_.data();
  args.out_stride = hidden;
  backend_.vision_attention(args);
}

void VisionTower::finish_block(const VisionBlock& block, int64_t begin, int64_t end) {
  const int64_t hidden = config_.hidden_size;
  const int64_t rows = end - begin;
  auto* delta = delta_.as<float>();
  attend(begin, end);
  linear(*block.proj, block.proj_bias, Activation::kNone, rows, attended_.data(), delta, true);
  layer_norm(block.norm2_weight, block.norm2_bias, begin, end, delta);
  linear(*block.fc1, block.fc1_bias, Activation::kGeluTanh, rows, at(normed_, begin * hidden),
         inner_.data(), false);
  linear(*block.fc2, block.fc2_bias, Activation::kNone, rows, inner_.data(), delta, true);
  norm(stage_ / 2, begin, end, delta);
}

// A row of the merger is the patches of one block, which lie one after the other.
void VisionTower::merge(int64_t index) {
  const MergedRun& run = merged_[static_cast<size_t>(index)];
  linear(*merger_fc1_, merger_fc1_bias_, Activation::kGeluErf, run.count,
         at(normed_, run.first * merger_fc1_->K), inner_.data(), false);
  linear(*merger_fc2_, merger_fc2_bias_, Activation::kNone, run.count, inner_.data(),
         pool_.as<float>() + run.to * config_.out_hidden_size, true);
}

}  // namespace deltaserve
