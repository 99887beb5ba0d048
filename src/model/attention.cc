// q_proj's rows interleave query and gate per head; the ops take them apart with strides.
#include "model/attention.h"

#include <cmath>

namespace deltaserve {

RopeBuffers::RopeBuffers(const RopeConfig& rope, WeightLoader& loader)
    : rotary_dim(rope.rotary_dim),
      attention_factor(rope.attention_factor),
      inv_freq(loader.upload<float>(rope.inv_freq)),
      mrope_axis(loader.upload<uint8_t>(rope.mrope_axis)) {}

Attention::Attention(const ModelConfig& config, const std::string& prefix, WeightLoader& loader)
    : num_heads_(config.num_attention_heads),
      num_kv_heads_(config.num_key_value_heads),
      head_dim_(config.head_dim),
      hidden_size_(config.hidden_size),
      scale_(1.0F / std::sqrt(static_cast<float>(config.head_dim))),
      eps_(config.rms_norm_eps) {
  const int64_t q_rows = int64_t{num_heads_} * head_dim_;
  const int64_t kv_rows = int64_t{num_kv_heads_} * head_dim_;
  const TensorView parts[] = {loader.take(prefix + "q_proj.weight", {2 * q_rows, hidden_size_}),
                              loader.take(prefix + "k_proj.weight", {kv_rows, hidden_size_}),
                              loader.take(prefix + "v_proj.weight", {kv_rows, hidden_size_})};
  qkv_proj_ = loader.linear(parts, prefix + "qkv_proj");
  q_norm_ = loader.floats(prefix + "q_norm.weight", {head_dim_});
  k_norm_ = loader.floats(prefix + "k_norm.weight", {head_dim_});
  o_proj_ = loader.linear(prefix + "o_proj.weight", hidden_size_, q_rows);
}

LinearArgs Attention::input(const Step& step, const NormedRows& x) const {
  return {.M = step.T,
          .x = x.rows,
          .x_stride = hidden_size_,
          .weight = qkv_proj_.get(),
          .out = step.workspace.projected.data(),
          .out_stride = row_stride(qkv_proj_->N),
          .x_scale = x.scale};
}

LinearArgs Attention::output(const Step& step) const {
  return {.M = step.T,
          .x = step.workspace.core.data(),
          .x_stride = row_stride(int64_t{num_heads_} * head_dim_),
          .weight = o_proj_.get(),
          .out_stride = hidden_size_,
          .out_float = true};
}

void Attention::mix(const Step& step, const RopeBuffers& rope, void* kv_cache, bool wanted) const {
  Backend& backend = step.backend;
  const int64_t stride = row_stride(qkv_proj_->N);
  const int64_t q_width = int64_t{2} * num_heads_ * head_dim_;
  const int64_t kv_width = int64_t{num_kv_heads_} * head_dim_;
  const int64_t out_stride = row_stride(int64_t{num_heads_} * head_dim_);
  void* q = step.workspace.projected.data();
  void* k = step.at(q, q_width);
  const void* v = step.at(q, q_width + kv_width);
  void* core = step.workspace.core.data();
  const QkNormRopeArgs rotation = {.batch = &step.batch,
                                   .num_heads = num_heads_,
                                   .num_kv_heads = num_kv_heads_,
                                   .head_dim = head_dim_,
                                   .rotary_dim = rope.rotary_dim,
                                   .q = q,
                                   .q_stride = stride,
                                   .q_head_stride = int64_t{2} * head_dim_,
                                   .k = k,
                                   .k_stride = stride,
                                   .q_weight = q_norm_.as<float>(),
                                   .k_weight = k_norm_.as<float>(),
                                   .inv_freq = rope.inv_freq.as<float>(),
                                   .mrope_axis = rope.mrope_axis.as<uint8_t>(),
                                   .attention_factor = rope.attention_factor,
                                   .eps = eps_};
  const WriteKvArgs writing = {.batch = &step.batch,
                               .num_kv_heads = num_kv_heads_,
                               .head_dim = head_dim_,
                               .k = k,
                               .v = v,
                               .kv_stride = stride,
                               .kv_cache = kv_cache};
  const AttentionArgs attention = {.batch = &step.batch,
                                   .num_heads = num_heads_,
                                   .num_kv_heads = num_kv_heads_,
                                   .head_dim = head_dim_,
                                   .scale = scale_,
                                   .q = q,
                                   .gate = step.at(q, head_dim_),
                                   .q_stride = stride,
                                   .q_head_stride = int64_t{2} * head_dim_,
                                   .kv_cache = kv_cache,
                                   .out = core,
                                   .out_stride = out_stride};
  if (wanted && backend.rope_attention(rotation, writing, attention)) {
    return;
  }
  if (!backend.qk_norm_rope_write_kv(rotation, writing)) {
    backend.qk_norm_rope(rotation);
    backend.write_kv(writing);
  }
  if (wanted) {
    backend.attention(attention);
  }
}

}  // namespace deltaserve
