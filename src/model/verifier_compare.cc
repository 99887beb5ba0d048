// What Verifier compares after a step: hidden states, logits, and the greedy ids.
#include <algorithm>
#include <limits>
#include <utility>

#include "model/verifier.h"

namespace deltaserve {

namespace {

// Index of the largest value, the lowest among equals, and its lead over the second.
std::pair<int32_t, double> best_of(std::span<const float> values) {
  size_t best = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    best = values[i] > values[best] ? i : best;
  }
  double gap = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != best) {
      gap = std::min(gap, static_cast<double>(values[best]) - values[i]);
    }
  }
  return {static_cast<int32_t>(best), gap};
}

}  // namespace

int64_t recorded_row(const GoldenCase& golden, int32_t position) {
  const auto found = std::ranges::lower_bound(golden.logits_rows, position);
  return found != golden.logits_rows.end() && *found == position
             ? found - golden.logits_rows.begin()
             : -1;
}

const float* recorded_values(const TensorView& view, int64_t row) {
  return reinterpret_cast<const float*>(view.data) + row * view.shape[1];
}

void Verifier::compare_hidden(std::span<VerifyRun*> active, int32_t index, const float* rows,
                              int64_t H) {
  for (VerifyRun* run : active) {
    if (run->golden->hidden.empty() || run->position >= run->prompt_len()) {
      continue;
    }
    const TensorView& recorded = run->golden->hidden[static_cast<size_t>(index)];
    for (int32_t i = 0; i < run->scheduled; ++i) {
      const float* reference = recorded_values(recorded, run->position + i);
      const float* values = rows + (run->first_row + i) * H;
      for (int64_t d = 0; d < H; ++d) {
        run->report.hidden.add(values[d], reference[d]);
      }
    }
  }
}

void Verifier::compare_logits(std::span<VerifyRun*> active) {
  const auto stride = static_cast<size_t>(model_.logits_stride());
  std::vector<float> logits(batch_.logits_rows.size() * stride);
  model_.backend().copy_to_host(logits.data(), model_.logits(), logits.size() * sizeof(float));
  size_t next = 0;
  for (VerifyRun* run : active) {
    for (; next < batch_.logits_rows.size() &&
           batch_.logits_rows[next] < run->first_row + run->scheduled;
         ++next) {
      const int32_t position = run->position + batch_.logits_rows[next] - run->first_row;
      compare_position(*run, position, std::span(logits).subspan(next * stride, V_));
    }
  }
}

void Verifier::compare_position(VerifyRun& run, int32_t position, std::span<const float> values) {
  const GoldenCase& golden = *run.golden;
  const int32_t step_index = position - run.prompt_len();
  const int64_t row = step_index >= 0 ? step_index : recorded_row(golden, position);
  if (row < 0) {
    return;
  }
  const std::span<const float> reference(
      recorded_values(step_index >= 0 ? golden.greedy_logits : golden.logits, row), V_);
  for (size_t v = 0; v < V_; ++v) {
    run.report.logits.add(values[v], reference[v]);
  }
  if (step_index >= -1) {
    compare_ids(run, reference, values);
  }
}

void Verifier::compare_ids(VerifyRun& run, std::span<const float> reference,
                           std::span<const float> values) {
  const auto [expected, gap] = best_of(reference);
  const bool equal = best_of(values).first == expected;
  ++run.report.num_ids;
  run.report.num_ids_equal += equal ? 1 : 0;
  const double tie = run.golden->needs_vision() ? options_.vision_id_gap : options_.id_gap;
  run.report.num_ids_wrong += !equal && gap > tie ? 1 : 0;
}

}  // namespace deltaserve
