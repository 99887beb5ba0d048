// Router and shared gate are one float32 linear: routing must not depend on X's rounding.
#include "model/moe.h"

#include <vector>

#include "ops/moe_block.h"

namespace deltaserve {

namespace {

struct ExpertViews {
  std::vector<TensorView> gate;  // E x [I, H]
  std::vector<TensorView> up;    // E x [I, H]
  std::vector<TensorView> down;  // E x [H, I]
};

// Matrix `index` of a stack [n, rows, columns].
TensorView matrix(const TensorView& stack, int64_t index) {
  TensorView one = stack.rows(index, index + 1);
  one.shape = {stack.shape[1], stack.shape[2]};
  return one;
}

ExpertViews fused_experts(const MoeConfig& moe, int64_t H, const std::string& prefix,
                          WeightLoader& loader) {
  const int64_t E = moe.num_experts;
  const int64_t I = moe.moe_intermediate_size;
  const TensorView gate_up = loader.take(prefix + "gate_up_proj", {E, 2 * I, H});
  const TensorView down = loader.take(prefix + "down_proj", {E, H, I});
  ExpertViews views;
  for (int64_t e = 0; e < E && !loader.failed(); ++e) {
    const TensorView both = matrix(gate_up, e);
    views.gate.push_back(both.rows(0, I));
    views.up.push_back(both.rows(I, 2 * I));
    views.down.push_back(matrix(down, e));
  }
  return views;
}

ExpertViews split_experts(const MoeConfig& moe, int64_t H, const std::string& prefix,
                          WeightLoader& loader) {
  const int64_t I = moe.moe_intermediate_size;
  ExpertViews views;
  for (int32_t e = 0; e < moe.num_experts && !loader.failed(); ++e) {
    const std::string expert = prefix + std::to_string(e) + ".";
    views.gate.push_back(loader.take(expert + "gate_proj.weight", {I, H}));
    views.up.push_back(loader.take(expert + "up_proj.weight", {I, H}));
    views.down.push_back(loader.take(expert + "down_proj.weight", {H, I}));
  }
  return views;
}

}  // namespace

Moe::Moe(const ModelConfig& config, const std::string& prefix, WeightLoader& loader)
    : moe_(*config.moe),
      hidden_size_(config.hidden_size),
      shared_expert_(config.hidden_size, config.moe->shared_expert_intermediate_size,
                     prefix + "shared_expert.", loader) {
  const TensorView gates[] = {loader.take(prefix + "gate.weight", {moe_.num_experts, hidden_size_}),
                              loader.take(prefix + "shared_expert_gate.weight", {1, hidden_size_})};
  router_ = loader.linear(gates, prefix + "gate");
  const std::string name = prefix + "experts.";
  const ExpertViews views = loader.has(name + "gate_up_proj")
                                ? fused_experts(moe_, hidden_size_, name, loader)
                                : split_experts(moe_, hidden_size_, name, loader);
  experts_ = loader.experts(views.gate, views.up, views.down, prefix + "experts");
}

MoeBlockArgs Moe::block(const Step& step, const Norm& norm, void* normed) const {
  const Workspace& workspace = step.workspace;
  return {.T = step.T,
          .H = hidden_size_,
          .K = moe_.num_experts_per_tok,
          .renormalize = moe_.norm_topk_prob,
          .residual = norm.residual,
          .delta = norm.delta,
          .norm_weight = norm.weight,
          .eps = norm.eps,
          .router = router_.get(),
          .experts = experts_.get(),
          .shared_gate_up = &shared_expert_.gate_up(),
          .shared_down = &shared_expert_.down_proj(),
          .x = normed,
          .logits = workspace.router.as<float>(),
          .logits_stride = row_stride(router_->N),
          .expert_ids = workspace.expert_ids.as<int32_t>(),
          .weights = workspace.expert_weights.as<float>(),
          .inner = workspace.inner.data(),
          .inner_stride = row_stride(moe_.shared_expert_intermediate_size),
          .shared = workspace.shared.as<float>()};
}

const float* Moe::forward(const Step& step, const Norm& norm, void* normed, float* out) const {
  const MoeBlockArgs args = block(step, norm, normed);
  if (step.backend.moe_block(args)) {
    return nullptr;
  }
  run_moe_ops(step.backend, args, out);
  return out;
}

}  // namespace deltaserve
