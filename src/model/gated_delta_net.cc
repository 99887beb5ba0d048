// Loading puts both published layouts of the input projections into one: flat rows q|k|v|z|b|a.
#include "model/gated_delta_net.h"

#include <vector>

namespace deltaserve {

namespace {

// Qwen3.5 and later: four matrices.
std::vector<TensorView> split_parts(const ModelConfig& config, const std::string& prefix,
                                    WeightLoader& loader) {
  const int64_t H = config.hidden_size;
  const int64_t Hv = config.linear_num_value_heads;
  return {loader.take(prefix + "in_proj_qkv.weight", {config.conv_channels(), H}),
          loader.take(prefix + "in_proj_z.weight", {Hv * config.linear_value_head_dim, H}),
          loader.take(prefix + "in_proj_b.weight", {Hv, H}),
          loader.take(prefix + "in_proj_a.weight", {Hv, H})};
}

// Qwen3-Next: two matrices whose rows are grouped per key head, [q dk | k dk | v r dv | z r dv] and
// [b r | a r] with r = Hv / Hk. Flat order is a matter of which rows are listed when.
std::vector<TensorView> grouped_parts(const ModelConfig& config, const std::string& prefix,
                                      WeightLoader& loader) {
  const int64_t H = config.hidden_size;
  const int64_t Hk = config.linear_num_key_heads;
  const int64_t r = config.linear_num_value_heads / Hk;
  const int64_t dk = config.linear_key_head_dim;
  const int64_t values = r * config.linear_value_head_dim;
  const int64_t group = 2 * dk + 2 * values;
  const TensorView qkvz = loader.take(prefix + "in_proj_qkvz.weight", {Hk * group, H});
  const TensorView ba = loader.take(prefix + "in_proj_ba.weight", {Hk * 2 * r, H});
  std::vector<TensorView> parts;
  if (loader.failed()) {
    return parts;
  }
  const auto add_groups = [&](const TensorView& view, int64_t stride, int64_t begin, int64_t end) {
    for (int64_t g = 0; g < Hk; ++g) {
      parts.push_back(view.rows(g * stride + begin, g * stride + end));
    }
  };
  add_groups(qkvz, group, 0, dk);
  add_groups(qkvz, group, dk, 2 * dk);
  add_groups(qkvz, group, 2 * dk, 2 * dk + values);
  add_groups(qkvz, group, 2 * dk + values, group);
  add_groups(ba, 2 * r, 0, r);
  add_groups(ba, 2 * r, r, 2 * r);
  return parts;
}

}  // namespace

GatedDeltaNet::GatedDeltaNet(const ModelConfig& config, const std::string& prefix,
                             WeightLoader& loader)
    : num_k_heads_(config.linear_num_key_heads),
      num_v_heads_(config.linear_num_value_heads),
      dk_(config.linear_key_head_dim),
      dv_(config.linear_value_head_dim),
      hidden_size_(config.hidden_size),
      channels_(config.conv_channels()),
      eps_(config.rms_norm_eps) {
  const std::vector<TensorView> parts = config.fused_qkvz ? grouped_parts(config, prefix, loader)
                                                          : split_parts(config, prefix, loader);
  in_proj_ = loader.linear(parts, prefix + "in_proj");
  conv_weight_ = loader.floats(prefix + "conv1d.weight", {channels_, 1, 4});
  A_log_ = loader.floats(prefix + "A_log", {num_v_heads_});
  dt_bias_ = loader.floats(prefix + "dt_bias", {num_v_heads_});
  norm_ = loader.floats(prefix + "norm.weight", {dv_});
  out_proj_ = loader.linear(prefix + "out_proj.weight", hidden_size_, int64_t{num_v_heads_} * dv_);
}

// The ops between the projections over the rows of one phase.
DeltaDecodeArgs GatedDeltaNet::ops(const Step& step, const PhaseView& phase,
                                   const LinearState& state) const {
  const int64_t values = int64_t{num_v_heads_} * dv_;
  const int64_t stride = row_stride(in_proj_->N);
  const int64_t channel_stride = row_stride(channels_);
  const int64_t value_stride = row_stride(values);
  void* projected = step.at(step.workspace.projected.data(), phase.first_row * stride);
  void* convolved = step.at(step.workspace.convolved.data(), phase.first_row * channel_stride);
  void* core = step.at(step.workspace.core.data(), phase.first_row * value_stride);
  return {.conv = {.batch = &phase.view,
                   .C = channels_,
                   .x = projected,
                   .x_stride = stride,
                   .weight = conv_weight_.as<float>(),
                   .conv_state = state.conv,
                   .out = convolved,
                   .out_stride = channel_stride},
          .rule = {.batch = &phase.view,
                   .num_k_heads = num_k_heads_,
                   .num_v_heads = num_v_heads_,
                   .dk = dk_,
                   .dv = dv_,
                   .qkv = convolved,
                   .qkv_stride = channel_stride,
                   .b = step.at(projected, channels_ + values),
                   .a = step.at(projected, channels_ + values + num_v_heads_),
                   .ba_stride = stride,
                   .A_log = A_log_.as<float>(),
                   .dt_bias = dt_bias_.as<float>(),
                   .state = state.recurrent,
                   .out = core,
                   .out_stride = value_stride},
          // q, k and v have been used by then: their buffer takes the output.
          .norm = {.T = phase.view.num_tokens,
                   .num_heads = num_v_heads_,
                   .head_dim = dv_,
                   .x = core,
                   .x_stride = value_stride,
                   .z = step.at(projected, channels_),
                   .z_stride = stride,
                   .weight = norm_.as<float>(),
                   .eps = eps_,
                   .out = step.at(step.workspace.convolved.data(), phase.first_row * value_stride),
                   .out_stride = value_stride}};
}

// Phase by phase what carries state; the norm of all rows when the last one is done.
void GatedDeltaNet::mix(const Step& step, const LinearState& state) const {
  Backend& backend = step.backend;
  const auto copy_snapshots = [&](const PhaseView& phase) {
    for (const StateCopy& copy : phase.snapshots) state.copy(backend, copy.from, copy.to);
  };
  DeltaDecodeArgs first = ops(step, step.phases.front(), state);
  if (step.phases.size() == 1 && step.phases.front().view.is_decode() &&
      backend.delta_decode(first)) {
    copy_snapshots(step.phases.front());
    return;
  }
  for (const PhaseView& phase : step.phases) {
    const DeltaDecodeArgs args = ops(step, phase, state);
    backend.causal_conv1d(args.conv);
    backend.gated_delta_rule(args.rule);
    copy_snapshots(phase);
  }
  first.norm.T = step.T;
  backend.gated_rms_norm(first.norm);
}

LinearArgs GatedDeltaNet::input(const Step& step, const NormedRows& x) const {
  return {.M = step.T,
          .x = x.rows,
          .x_stride = hidden_size_,
          .weight = in_proj_.get(),
          .out = step.workspace.projected.data(),
          .out_stride = row_stride(in_proj_->N),
          .x_scale = x.scale};
}

LinearArgs GatedDeltaNet::output(const Step& step) const {
  return {.M = step.T,
          .x = step.workspace.convolved.data(),
          .x_stride = row_stride(int64_t{num_v_heads_} * dv_),
          .weight = out_proj_.get(),
          .out_stride = hidden_size_,
          .out_float = true};
}

}  // namespace deltaserve
