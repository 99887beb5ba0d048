// One window is one prefill of each model; logits are compared row by row in double.
#include "model/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace deltaserve {

namespace {

Result<void> allocate(Model& model, int32_t window) {
  const StepLimits limits{
      .max_tokens = window, .max_seqs = 1, .max_model_len = window, .max_logits_rows = window};
  return model.allocate(limits, (window + kBlockSize - 1) / kBlockSize, 1);
}

Batch window_batch(std::span<const int32_t> tokens) {
  const auto count = static_cast<int32_t>(tokens.size());
  Batch batch;
  batch.input_ids.assign(tokens.begin(), tokens.end());
  for (int32_t t = 0; t < count; ++t) {
    batch.slot_mapping.push_back(t);
    batch.logits_rows.push_back(t);
  }
  for (int32_t axis = 0; axis < 3; ++axis) {
    for (int32_t t = 0; t < count; ++t) {
      batch.positions.push_back(t);
    }
  }
  batch.max_blocks_per_seq = (count + kBlockSize - 1) / kBlockSize;
  for (int32_t b = 0; b < batch.max_blocks_per_seq; ++b) {
    batch.block_tables.push_back(b);
  }
  batch.cu_seqlens = {0, count};
  batch.context_lens = {0};
  batch.state_slots = {0};
  batch.recurrent = {0};
  return batch;
}

// [rows, stride] float32.
std::vector<float> run_window(Model& model, const Batch& batch) {
  model.forward(batch);
  std::vector<float> logits(batch.logits_rows.size() * static_cast<size_t>(model.logits_stride()));
  model.backend().copy_to_host(logits.data(), model.logits(), logits.size() * sizeof(float));
  return logits;
}

size_t argmax(std::span<const float> row) {
  return static_cast<size_t>(std::ranges::max_element(row) - row.begin());
}

// log of the sum of exp.
double log_sum(std::span<const float> row) {
  const double largest = *std::ranges::max_element(row);
  double sum = 0.0;
  for (const float logit : row) {
    sum += std::exp(logit - largest);
  }
  return largest + std::log(sum);
}

double kl(std::span<const float> base, std::span<const float> other, double base_log_sum,
          double other_log_sum) {
  double sum = 0.0;
  for (size_t v = 0; v < base.size(); ++v) {
    const double log_p = base[v] - base_log_sum;
    sum += std::exp(log_p) * (log_p - (other[v] - other_log_sum));
  }
  return sum;
}

class Comparison {
 public:
  Comparison(Model& base, Model& other) : base_(base), other_(other) {}

  Result<void> add_window(std::span<const int32_t> tokens);
  Divergence result();

 private:
  Model& base_;
  Model& other_;
  std::vector<double> kls_;
  int64_t top1_equal_ = 0;
  double base_nll_ = 0.0;
  double other_nll_ = 0.0;
};

Result<void> Comparison::add_window(std::span<const int32_t> tokens) {
  const Batch batch = window_batch(tokens);
  const std::vector<float> base = run_window(base_, batch);
  const std::vector<float> other = run_window(other_, batch);
  const auto V = static_cast<size_t>(base_.config().vocab_size);
  const auto base_stride = static_cast<size_t>(base_.logits_stride());
  const auto other_stride = static_cast<size_t>(other_.logits_stride());
  for (size_t t = 0; t + 1 < tokens.size(); ++t) {
    const auto p = std::span(base).subspan(t * base_stride, V);
    const auto q = std::span(other).subspan(t * other_stride, V);
    const double p_sum = log_sum(p);
    const double q_sum = log_sum(q);
    const double divergence = kl(p, q, p_sum, q_sum);
    if (!std::isfinite(divergence)) {
      return fail(ErrorCode::kInternal, fmt::format("a logit after token {} is not finite", t));
    }
    const auto next = static_cast<size_t>(tokens[t + 1]);
    kls_.push_back(divergence);
    top1_equal_ += argmax(p) == argmax(q) ? 1 : 0;
    base_nll_ += p_sum - p[next];
    other_nll_ += q_sum - q[next];
  }
  return {};
}

Divergence Comparison::result() {
  std::ranges::sort(kls_);
  const auto count = static_cast<double>(kls_.size());
  Divergence result;
  result.positions = static_cast<int64_t>(kls_.size());
  for (const double value : kls_) {
    result.kl += value / count;
  }
  result.kl_p99 = kls_[(kls_.size() - 1) * 99 / 100];
  result.kl_max = kls_.back();
  result.top1_agreement = static_cast<double>(top1_equal_) / count;
  result.base_nll = base_nll_ / count;
  result.other_nll = other_nll_ / count;
  return result;
}

}  // namespace

Result<Divergence> compare_models(Model& base, Model& other, std::span<const int32_t> tokens,
                                  int32_t window) {
  const int32_t V = base.config().vocab_size;
  if (V != other.config().vocab_size) {
    return invalid(
        fmt::format("the models have vocabularies of {} and {}", V, other.config().vocab_size));
  }
  if (tokens.size() < 2 || window < 2) {
    return invalid("a comparison needs two tokens or more");
  }
  if (std::ranges::any_of(tokens, [V](int32_t id) { return id < 0 || id >= V; })) {
    return invalid("the text has a token outside the model's vocabulary");
  }
  for (Model* model : {&base, &other}) {
    if (Result<void> allocated = allocate(*model, window); !allocated) {
      return std::unexpected(std::move(allocated.error()));
    }
  }
  Comparison comparison(base, other);
  const auto step = static_cast<size_t>(window);
  for (size_t first = 0; first + 1 < tokens.size(); first += step) {
    const auto part = tokens.subspan(first, std::min(step, tokens.size() - first));
    if (Result<void> added = comparison.add_window(part); !added) {
      return std::unexpected(std::move(added.error()));
    }
  }
  return comparison.result();
}

}  // namespace deltaserve
