// Loading order follows the files; the forward pass follows the layers.
#include "model/decoder.h"

#include <algorithm>
#include <ranges>
#include <utility>
#include <variant>

#include "base/check.h"
#include "model/checkpoint_config.h"
#include "model/gated_delta_net.h"
#include "model/mlp.h"
#include "model/moe.h"
#include "model/tied_head.h"

namespace deltaserve {

Decoder::Decoder(ModelConfig config, Backend& backend, WeightLoader& loader)
    : config_(std::move(config)), backend_(backend), rope_(config_.rope, loader) {
  const int64_t V = config_.vocab_size;
  const int64_t H = config_.hidden_size;
  const TensorView table = loader.take(config_.weight_prefix + "embed_tokens.weight", {V, H});
  embed_tokens_ = loader.embedding(table, "embed_tokens");
  layers_.reserve(static_cast<size_t>(config_.num_hidden_layers));
  for (int32_t i = 0; i < config_.num_hidden_layers && !loader.failed(); ++i) {
    layers_.emplace_back(config_, i, loader);
  }
  norm_ = loader.floats(config_.weight_prefix + "norm.weight", {H});
  if (config_.tie_word_embeddings) {
    check_tied_head(config_, table, loader);
    lm_head_ = loader.tied_head(table);
  } else {
    lm_head_ = loader.linear("lm_head.weight", V, H);
  }
  if (config_.vision && loader.has_vision()) {
    vision_ = std::make_unique<VisionTower>(*config_.vision, backend_, loader);
  }
  weight_bytes_ = loader.weight_bytes();
  cache_ = CacheBuffers(config_, backend_);
}

ModelMemory Decoder::memory() const {
  return {.weight_bytes = weight_bytes_,
          .kv_block_bytes = cache_.kv_block_bytes(),
          .state_slot_bytes = cache_.state_slot_bytes(),
          .own_memory = backend_.has_own_memory()};
}

StepLimits Decoder::with_shapes(StepLimits limits) const {
  limits.model = {.num_heads = config_.num_attention_heads,
                  .num_kv_heads = config_.num_key_value_heads,
                  .head_dim = config_.head_dim,
                  .num_k_heads = config_.linear_num_key_heads,
                  .num_v_heads = config_.linear_num_value_heads,
                  .dk = config_.linear_key_head_dim,
                  .dv = config_.linear_value_head_dim,
                  .hidden_size = config_.hidden_size,
                  .inner_size = config_.intermediate_size,
                  .vocab_size = config_.vocab_size};
  if (config_.moe) {
    limits.model.inner_size = config_.moe->shared_expert_intermediate_size;
    limits.model.num_experts = config_.moe->num_experts;
    limits.model.experts_per_token = config_.moe->num_experts_per_tok;
    limits.model.expert_size = config_.moe->moe_intermediate_size;
  }
  if (vision_ && limits.max_frame_patches > 0) {
    limits.max_vision_rows = kVisionPartRows;
    limits.vision = vision_->shape();
  }
  return limits;
}

int64_t Decoder::workspace_bytes(const StepLimits& limits) const {
  return Workspace::bytes(config_, backend_.compute_dtype(), limits) + BatchBuffers::bytes(limits) +
         (vision_ ? vision_->workspace_bytes(limits) : 0) +
         backend_.scratch_bytes(with_shapes(limits));
}

Result<void> Decoder::allocate(const StepLimits& limits, int64_t num_blocks,
                               int64_t num_state_slots) {
  DS_CHECK(!workspace_, "allocate() is called once");
  DS_CHECK(limits.max_tokens > 0 && limits.max_seqs > 0 && limits.max_model_len > 0);
  limits_ = with_shapes(limits);
  if (Result<void> reserved = backend_.reserve(limits_); !reserved) {
    return reserved;
  }
  Result<Workspace> workspace = Workspace::allocate(config_, backend_, limits);
  if (!workspace) {
    return std::unexpected(std::move(workspace.error()));
  }
  Result<BatchBuffers> batch = BatchBuffers::allocate(backend_, limits);
  if (!batch) {
    return std::unexpected(std::move(batch.error()));
  }
  if (Result<void> cached = cache_.allocate(num_blocks, num_state_slots); !cached) {
    return cached;
  }
  workspace_ = std::move(*workspace);
  batch_ = std::move(*batch);
  return vision_ ? vision_->allocate(limits) : Result<void>();
}

void Decoder::copy_state(int32_t from_slot, int32_t to_slot) {
  cache_.copy_state(from_slot, to_slot);
}

void Decoder::copy_block(int32_t from_block, int32_t to_block) {
  cache_.copy_block(from_block, to_block);
}

void Decoder::forward(const Batch& batch, const HiddenCallback& on_hidden) {
  DS_CHECK(workspace_, "allocate() comes before forward()");
  const auto V = config_.vocab_size;
  DS_CHECK(std::ranges::all_of(batch.input_ids, [V](int32_t id) { return id >= 0 && id < V; }));
  const int64_t num_slots = cache_.num_blocks() * kBlockSize;
  DS_CHECK(std::ranges::all_of(batch.slot_mapping,
                               [&](int32_t slot) { return slot >= 0 && slot < num_slots; }));
  DS_CHECK(std::ranges::all_of(batch.state_slots, [&](int32_t slot) {
    return slot >= 0 && slot < cache_.num_state_slots();
  }));
  for (const StateCopy& copy : batch.restores) cache_.copy_state(copy.from, copy.to);
  batch_->upload(backend_, batch);
  if (batch_->drawn_ids() != nullptr) backend_.take_drawn(*batch_->drawn_ids());
  const Step step = {.backend = backend_,
                     .batch = batch_->view(),
                     .phases = batch_->phases(),
                     .workspace = *workspace_,
                     .T = batch.num_tokens(),
                     .element_size = dtype_size(backend_.compute_dtype())};
  if (!on_hidden && batch.embeddings.empty() && batch_->repeats()) {
    backend_.run_step({.num_seqs = batch_->view().num_seqs,
                       .max_blocks_per_seq = batch_->view().max_blocks_per_seq},
                      [&] { run_model(step, batch, on_hidden); });
  } else {
    run_model(step, batch, on_hidden);
  }
  if (batch_->repeats()) {
    for (const StateCopy& copy : batch.snapshots) cache_.copy_state(copy.from, copy.to);
  }
  for (const BlockCopy& copy : batch.block_copies) cache_.copy_block(copy.from, copy.to);
}

void Decoder::run_model(const Step& step, const Batch& batch, const HiddenCallback& on_hidden) {
  backend_.embed({.T = step.T,
                  .ids = batch_->input_ids(),
                  .table = embed_tokens_.get(),
                  .out = workspace_->residual.as<float>()});
  inject_vision(batch);
  run_layers(step, !batch.logits_rows.empty() || on_hidden, on_hidden);
  run_head(step, batch, on_hidden);
}

void Decoder::inject_vision(const Batch& batch) const {
  const int64_t H = config_.hidden_size;
  for (const EmbeddingCopy& copy : batch.embeddings) {
    DS_CHECK(vision_ && copy.row >= 0 && copy.row + copy.count <= batch.num_tokens());
    backend_.copy_on_device(workspace_->residual.as<float>() + copy.row * H,
                            vision_->embeddings() + copy.from * H,
                            static_cast<size_t>(copy.count * H) * sizeof(float));
  }
}

void Decoder::run_layers(const Step& step, bool wanted, const HiddenCallback& on_hidden) {
  auto* residual = workspace_->residual.as<float>();
  run_input(step, layers_.front(), nullptr);
  size_t linear_index = 0;
  size_t full_index = 0;
  for (size_t i = 0;; ++i) {
    const DecoderLayer& layer = layers_[i];
    const bool last = i + 1 == layers_.size();
    report_hidden(on_hidden, static_cast<int32_t>(i), DType::kF32, residual, step.T);
    if (const auto* linear = std::get_if<GatedDeltaNet>(&layer.mixer)) {
      linear->mix(step, cache_.linear_state(linear_index));
      ++linear_index;
    } else {
      std::get<Attention>(layer.mixer).mix(step, rope_, cache_.kv(full_index), !last || wanted);
      ++full_index;
    }
    if (last) return;
    run_to_next(step, layer, layers_[i + 1]);
  }
}

void Decoder::run_input(const Step& step, const DecoderLayer& layer, const float* pending) const {
  void* normed = workspace_->normed.data();
  const AddRmsNormArgs norm =
      norm_args(workspace_->residual.as<float>(), pending, layer.input_norm, normed, step.T);
  const LinearArgs input = layer.input(step, {.rows = normed});
  if (!backend_.norm_linear(norm, input)) {
    backend_.add_rms_norm(norm);
    backend_.linear(input);
  }
}

void Decoder::run_to_next(const Step& step, const DecoderLayer& layer,
                          const DecoderLayer& next) const {
  if (const auto* mlp = std::get_if<Mlp>(&layer.ffn)) {
    const NormedRows x =
        add_normed(step, layer.output(step), layer.post_attention_norm, 2 * mlp->gate_up().I);
    backend_.linear(next.input(step, add_normed(step, mlp->run_gate_up(step, x), next.input_norm,
                                                next.input(step, {}).weight->N)));
    return;
  }
  auto* residual = workspace_->residual.as<float>();
  auto* delta = workspace_->delta.as<float>();
  const Rows rows = {.residual = residual,
                     .pending = step.add_linear(layer.output(step), residual, delta),
                     .delta = delta,
                     .normed = workspace_->normed.data()};
  run_input(step, next, run_ffn(step, layer, rows));
}

NormedRows Decoder::add_normed(const Step& step, const LinearArgs& product,
                               const DeviceBuffer& weight, int64_t next_rows) const {
  auto* residual = workspace_->residual.as<float>();
  void* normed = workspace_->normed.data();
  const std::optional<NormScale> scale =
      backend_.linear_norm({.linear = product,
                            .residual = residual,
                            .weight = weight.as<float>(),
                            .eps = config_.rms_norm_eps,
                            .out = normed,
                            .squares = workspace_->squares.as<float>(),
                            .next_rows = next_rows});
  if (!scale) {
    add_norm(residual, step.add_linear(product, residual, workspace_->delta.as<float>()), weight,
             normed, step.T);
  }
  return {.rows = normed, .scale = scale.value_or(NormScale{})};
}

const float* Decoder::run_ffn(const Step& step, const DecoderLayer& layer, const Rows& rows) const {
  if (const auto* moe = std::get_if<Moe>(&layer.ffn)) {
    return moe->forward(step,
                        {.residual = rows.residual,
                         .delta = rows.pending,
                         .weight = layer.post_attention_norm.as<float>(),
                         .eps = config_.rms_norm_eps},
                        rows.normed, rows.delta);
  }
  add_norm(rows.residual, rows.pending, layer.post_attention_norm, rows.normed, step.T);
  return step.add_linear(std::get<Mlp>(layer.ffn).run_gate_up(step, {.rows = rows.normed}),
                         rows.residual, rows.delta);
}

void Decoder::run_head(const Step& step, const Batch& batch, const HiddenCallback& on_hidden) {
  const Workspace& workspace = *workspace_;
  const auto R = static_cast<int64_t>(batch.logits_rows.size());
  DS_CHECK(R <= std::max(limits_.max_seqs, limits_.max_logits_rows));
  if (R > 0) {
    Step last = step;
    last.T = R;
    LinearArgs output = layers_.back().output(last);
    if (!std::ranges::equal(batch.logits_rows, std::views::iota(0, static_cast<int32_t>(step.T)))) {
      // `projected` has served this step.
      const int64_t row_bytes = output.x_stride * step.element_size;
      DS_CHECK(R * row_bytes <= static_cast<int64_t>(workspace.projected.bytes()));
      gather_rows(batch.logits_rows, output.x, workspace.projected.data(), row_bytes);
      output.x = workspace.projected.data();
    }
    auto* residual = workspace.last_residual.as<float>();
    gather_rows(batch.logits_rows, workspace.residual.data(), residual,
                config_.hidden_size * int64_t{sizeof(float)});
    finish_rows(last, output,
                {.residual = residual,
                 .delta = workspace.last_delta.as<float>(),
                 .normed = workspace.last_normed.data()});
    backend_.linear({.M = R,
                     .x = workspace.last_normed.data(),
                     .x_stride = config_.hidden_size,
                     .weight = lm_head_.get(),
                     .out = workspace.logits.data(),
                     .out_stride = logits_stride(),
                     .out_float = true});
  }
  if (on_hidden) {
    finish_rows(step, layers_.back().output(step),
                {.residual = workspace.residual.as<float>(),
                 .delta = workspace.delta.as<float>(),
                 .normed = workspace.normed.data()});
    report_hidden(on_hidden, config_.num_hidden_layers, backend_.compute_dtype(),
                  workspace.normed.data(), step.T);
  }
}

void Decoder::finish_rows(const Step& step, const LinearArgs& output, Rows rows) const {
  rows.pending = step.add_linear(output, rows.residual, rows.delta);
  const float* lacking = run_ffn(step, layers_.back(), rows);
  add_norm(rows.residual, lacking, norm_, rows.normed, step.T);
}

AddRmsNormArgs Decoder::norm_args(float* residual, const float* delta, const DeviceBuffer& weight,
                                  void* out, int64_t rows) const {
  return {.T = rows,
          .H = config_.hidden_size,
          .residual = residual,
          .delta = delta,
          .weight = weight.as<float>(),
          .eps = config_.rms_norm_eps,
          .out = out};
}

void Decoder::add_norm(float* residual, const float* delta, const DeviceBuffer& weight, void* out,
                       int64_t rows) const {
  backend_.add_rms_norm(norm_args(residual, delta, weight, out, rows));
}

// Runs of consecutive rows are one copy: a prefill's logits rows, or a batch of decodes.
void Decoder::gather_rows(const std::vector<int32_t>& rows, const void* from, void* to,
                          int64_t row_bytes) const {
  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin + 1;
    while (end < rows.size() && rows[end] == rows[end - 1] + 1) {
      ++end;
    }
    backend_.copy_on_device(static_cast<std::byte*>(to) + static_cast<int64_t>(begin) * row_bytes,
                            static_cast<const std::byte*>(from) + rows[begin] * row_bytes,
                            (end - begin) * static_cast<size_t>(row_bytes));
    begin = end;
  }
}

void Decoder::report_hidden(const HiddenCallback& on_hidden, int32_t index, DType dtype,
                            const void* rows, int64_t T) {
  if (!on_hidden) {
    return;
  }
  const TensorView view = {.dtype = dtype, .shape = {T, config_.hidden_size}, .data = nullptr};
  host_rows_.resize(static_cast<size_t>(view.num_bytes()));
  backend_.copy_to_host(host_rows_.data(), rows, host_rows_.size());
  TensorView filled = view;
  filled.data = host_rows_.data();
  on_hidden(index, to_float_vector(filled).data(), T, config_.hidden_size);
}

}  // namespace deltaserve
