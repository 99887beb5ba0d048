// Builds batches by hand: every case is a sequence with its own blocks and state slot, its prompt
// prefilled in chunks, then one recorded id a step.
#include "model/verify.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "model/embedding_copies.h"
#include "model/prompt_layout.h"
#include "model/vision_tower.h"

namespace deltaserve {

namespace {

struct Run {  // one case being run
  const GoldenCase* golden = nullptr;
  CaseReport report;
  int32_t slot = 0;
  int32_t first_block = 0;
  int32_t position = 0;   // tokens computed
  int32_t scheduled = 0;  // tokens of this step
  int32_t first_row = 0;  // in this step's batch
  PromptLayout layout = {};
  std::vector<std::vector<int32_t>> pages = {};  // of each of the case's items

  int32_t prompt_len() const { return static_cast<int32_t>(golden->input_ids.size()); }
  int32_t length() const { return prompt_len() + static_cast<int32_t>(golden->greedy_ids.size()); }
  int32_t num_blocks() const { return (length() + kBlockSize - 1) / kBlockSize; }
  int32_t token(int32_t at) const {
    return at < prompt_len() ? golden->input_ids[static_cast<size_t>(at)]
                             : golden->greedy_ids[static_cast<size_t>(at - prompt_len())];
  }
};

// Row of the recorded prompt logits for a position, or -1.
int64_t recorded_row(const GoldenCase& golden, int32_t position) {
  const auto found = std::ranges::lower_bound(golden.logits_rows, position);
  return found != golden.logits_rows.end() && *found == position
             ? found - golden.logits_rows.begin()
             : -1;
}

const float* row_of(const TensorView& view, int64_t row) {
  return reinterpret_cast<const float*>(view.data) + row * view.shape[1];
}

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

class Verifier {
 public:
  Verifier(Model& model, const VerifyOptions& options)
      : model_(model), options_(options), V_(static_cast<size_t>(model.config().vocab_size)) {}

  Result<void> prepare(const std::vector<const GoldenCase*>& cases);
  void run_all();
  std::vector<Run>& runs() { return runs_; }

 private:
  int32_t step_len(const Run& run) const {
    const int32_t left = run.prompt_len() - run.position;
    return left <= 0 ? 1 : options_.chunk == 0 ? left : std::min(left, options_.chunk);
  }
  Result<void> place_pictures(Run& run, StepLimits& limits);
  void encode_pictures();
  void step(std::span<Run*> active);
  void add_sequence(Run& run);
  void compare_logits(std::span<Run*> active);
  void compare_position(Run& run, int32_t position, std::span<const float> values);
  void compare_ids(Run& run, std::span<const float> reference, std::span<const float> values);
  void compare_hidden(std::span<Run*> active, int32_t index, const float* rows, int64_t H);

  Model& model_;
  const VerifyOptions& options_;
  size_t V_;
  std::vector<Run> runs_;
  Batch batch_;
};

Result<void> Verifier::prepare(const std::vector<const GoldenCase*>& cases) {
  int32_t num_blocks = 0;
  int32_t max_blocks = 0;
  StepLimits limits;
  for (const GoldenCase* golden : cases) {
    Run run;
    run.golden = golden;
    run.report.name = golden->name;
    run.report.num_tokens = run.prompt_len();
    run.slot = static_cast<int32_t>(runs_.size());
    run.first_block = num_blocks;
    num_blocks += run.num_blocks();
    max_blocks = std::max(max_blocks, run.num_blocks());
    const int64_t rows = step_len(run);
    if (Result<void> placed = place_pictures(run, limits); !placed) {
      return placed;
    }
    limits.max_tokens =
        options_.packed ? limits.max_tokens + rows : std::max(limits.max_tokens, rows);
    runs_.push_back(std::move(run));
  }
  batch_.max_blocks_per_seq = max_blocks;
  limits.max_seqs = options_.packed ? static_cast<int64_t>(runs_.size()) : 1;
  limits.max_model_len = int64_t{max_blocks} * kBlockSize;
  limits.max_logits_rows = limits.max_tokens;
  return model_.allocate(limits, num_blocks, static_cast<int64_t>(runs_.size()));
}

// Pages for the case's embeddings, and the positions that its pictures give to its tokens.
Result<void> Verifier::place_pictures(Run& run, StepLimits& limits) {
  const GoldenCase& golden = *run.golden;
  const ModelConfig& config = model_.config();
  PlaceholderIds ids;
  if (golden.needs_vision()) {
    ids = {.image = config.image_token_id, .video = config.video_token_id};
  }
  Result<PromptLayout> layout = PromptLayout::make(golden.input_ids, golden.items, ids);
  if (!layout) {
    return std::unexpected(std::move(layout.error()));
  }
  run.layout = std::move(*layout);
  for (const auto& item : golden.items) {
    limits.max_frame_patches =
        std::max(limits.max_frame_patches, int64_t{item->grid_h} * item->grid_w);
    std::vector<int32_t>& pages = run.pages.emplace_back();
    for (int64_t i = 0; i < vision_pages_for(item->num_tokens()); ++i) {
      pages.push_back(static_cast<int32_t>(limits.vision_pages++));
    }
  }
  const auto T = static_cast<size_t>(run.prompt_len());
  for (size_t i = 0; i < golden.position_ids.size(); ++i) {
    const auto position = run.layout.position(static_cast<int64_t>(i % T));
    run.report.num_positions_wrong += golden.position_ids[i] != position[i / T] ? 1 : 0;
  }
  return {};
}

void Verifier::encode_pictures() {
  std::vector<VisionJob> jobs;
  for (const Run& run : runs_) {
    for (size_t i = 0; i < run.pages.size(); ++i) {
      jobs.push_back({.item = run.golden->items[i], .pages = run.pages[i]});
    }
  }
  if (jobs.empty()) {
    return;
  }
  VisionTower& tower = *model_.vision();
  tower.begin(std::move(jobs));
  while (tower.busy()) {
    tower.advance(std::numeric_limits<double>::max());
  }
  const auto width = static_cast<size_t>(tower.config().out_hidden_size);
  std::vector<float> row(width);
  for (Run& run : runs_) {
    int64_t recorded = 0;
    for (size_t i = 0; i < run.pages.size(); ++i) {
      for (int64_t r = 0; r < run.golden->items[i]->num_tokens(); ++r, ++recorded) {
        const int64_t at =
            run.pages[i][static_cast<size_t>(r / kVisionPageRows)] * kVisionPageRows +
            r % kVisionPageRows;
        model_.backend().copy_to_host(row.data(),
                                      tower.embeddings() + at * tower.config().out_hidden_size,
                                      width * sizeof(float));
        const float* reference = row_of(run.golden->vision_embeds, recorded);
        for (size_t d = 0; d < width; ++d) {
          run.report.vision.add(row[d], reference[d]);
        }
      }
    }
  }
}

void Verifier::run_all() {
  encode_pictures();
  std::vector<Run*> active;
  if (!options_.packed) {
    for (Run& run : runs_) {
      active.assign(1, &run);
      while (run.position < run.length()) {
        step(active);
      }
    }
    return;
  }
  for (;;) {
    active.clear();
    for (Run& run : runs_) {
      if (run.position < run.length()) {
        active.push_back(&run);
      }
    }
    if (active.empty()) {
      return;
    }
    step(active);
  }
}

void Verifier::add_sequence(Run& run) {
  run.scheduled = step_len(run);
  run.first_row = batch_.num_tokens();
  for (int32_t i = 0; i < run.scheduled; ++i) {
    const int32_t position = run.position + i;
    const int32_t block = run.first_block + position / kBlockSize;
    batch_.input_ids.push_back(run.token(position));
    batch_.slot_mapping.push_back(block * kBlockSize + position % kBlockSize);
    if (position >= run.prompt_len() || recorded_row(*run.golden, position) >= 0 ||
        position == run.prompt_len() - 1) {
      batch_.logits_rows.push_back(run.first_row + i);
    }
  }
  const std::vector<std::span<const int32_t>> pages(run.pages.begin(), run.pages.end());
  append_embedding_copies(run.layout, pages, run.position, run.position + run.scheduled,
                          run.first_row, batch_.embeddings);
  for (int32_t i = 0; i < batch_.max_blocks_per_seq; ++i) {
    batch_.block_tables.push_back(i < run.num_blocks() ? run.first_block + i : 0);
  }
  batch_.cu_seqlens.push_back(batch_.num_tokens());
  batch_.context_lens.push_back(run.position);
  batch_.state_slots.push_back(run.slot);
  batch_.recurrent.push_back(run.position >= run.prompt_len() ? 1 : 0);
}

void Verifier::step(std::span<Run*> active) {
  const int32_t max_blocks = batch_.max_blocks_per_seq;
  batch_ = Batch{};
  batch_.max_blocks_per_seq = max_blocks;
  batch_.cu_seqlens.push_back(0);
  for (Run* run : active) {
    add_sequence(*run);
  }
  for (size_t axis = 0; axis < 3; ++axis) {
    for (const Run* run : active) {
      for (int32_t i = 0; i < run->scheduled; ++i) {
        batch_.positions.push_back(run->layout.position(run->position + i)[axis]);
      }
    }
  }
  const bool has_hidden = std::ranges::any_of(active, [](const Run* run) {
    return !run->golden->hidden.empty() && run->position < run->prompt_len();
  });
  HiddenCallback on_hidden;
  if (has_hidden) {
    on_hidden = [&](int32_t index, const float* rows, int64_t, int64_t H) {
      compare_hidden(active, index, rows, H);
    };
  }
  model_.forward(batch_, on_hidden);
  compare_logits(active);
  for (Run* run : active) {
    run->position += run->scheduled;
  }
}

void Verifier::compare_hidden(std::span<Run*> active, int32_t index, const float* rows, int64_t H) {
  for (Run* run : active) {
    if (run->golden->hidden.empty() || run->position >= run->prompt_len()) {
      continue;
    }
    const TensorView& recorded = run->golden->hidden[static_cast<size_t>(index)];
    for (int32_t i = 0; i < run->scheduled; ++i) {
      const float* reference = row_of(recorded, run->position + i);
      const float* values = rows + (run->first_row + i) * H;
      for (int64_t d = 0; d < H; ++d) {
        run->report.hidden.add(values[d], reference[d]);
      }
    }
  }
}

void Verifier::compare_logits(std::span<Run*> active) {
  const auto stride = static_cast<size_t>(model_.logits_stride());
  std::vector<float> logits(batch_.logits_rows.size() * stride);
  model_.backend().copy_to_host(logits.data(), model_.logits(), logits.size() * sizeof(float));
  size_t next = 0;
  for (Run* run : active) {
    for (; next < batch_.logits_rows.size() &&
           batch_.logits_rows[next] < run->first_row + run->scheduled;
         ++next) {
      const int32_t position = run->position + batch_.logits_rows[next] - run->first_row;
      compare_position(*run, position, std::span(logits).subspan(next * stride, V_));
    }
  }
}

void Verifier::compare_position(Run& run, int32_t position, std::span<const float> values) {
  const GoldenCase& golden = *run.golden;
  const int32_t step_index = position - run.prompt_len();
  const int64_t row = step_index >= 0 ? step_index : recorded_row(golden, position);
  if (row < 0) {
    return;
  }
  const std::span<const float> reference(
      row_of(step_index >= 0 ? golden.greedy_logits : golden.logits, row), V_);
  for (size_t v = 0; v < V_; ++v) {
    run.report.logits.add(values[v], reference[v]);
  }
  if (step_index >= -1) {
    compare_ids(run, reference, values);
  }
}

void Verifier::compare_ids(Run& run, std::span<const float> reference,
                           std::span<const float> values) {
  const auto [expected, gap] = best_of(reference);
  const bool equal = best_of(values).first == expected;
  ++run.report.num_ids;
  run.report.num_ids_equal += equal ? 1 : 0;
  const double tie = run.golden->needs_vision() ? options_.vision_id_gap : options_.id_gap;
  run.report.num_ids_wrong += !equal && gap > tie ? 1 : 0;
}

json::Value stats_json(const ErrorStats& stats) {
  return {{"max_abs", stats.max_abs}, {"rms", stats.rms()}, {"count", stats.count}};
}

}  // namespace

Result<VerifyReport> verify_model(Model& model, const std::vector<GoldenCase>& cases,
                                  const VerifyOptions& options) {
  VerifyReport report;
  std::vector<const GoldenCase*> selected;
  for (const GoldenCase& golden : cases) {
    if (!options.only.empty() && ::fnmatch(options.only.c_str(), golden.name.c_str(), 0) != 0) {
      continue;
    }
    if (golden.needs_vision() && model.vision() == nullptr) {
      CaseReport skipped;
      skipped.name = golden.name;
      skipped.needs_vision = true;
      report.cases.push_back(std::move(skipped));
      ++report.num_not_run;
    } else {
      selected.push_back(&golden);
    }
  }
  if (selected.empty()) {
    return invalid(report.num_not_run > 0
                       ? "every selected case needs a vision tower, which this model lacks"
                       : fmt::format("no case is named like \"{}\"", options.only));
  }
  Verifier verifier(model, options);
  if (Result<void> prepared = verifier.prepare(selected); !prepared) {
    return std::unexpected(std::move(prepared.error()));
  }
  verifier.run_all();
  for (Run& run : verifier.runs()) {
    CaseReport& result = run.report;
    result.passed = result.logits.max_abs <= options.tolerance &&
                    result.hidden.max_abs <= options.tolerance &&
                    result.vision.max_abs <= options.vision_tolerance &&
                    result.num_positions_wrong == 0 && result.num_ids_wrong == 0;
    ++(result.passed ? report.num_passed : report.num_failed);
    report.cases.push_back(std::move(result));
  }
  return report;
}

json::Value verify_report_json(const VerifyReport& report) {
  json::Array cases;
  for (const CaseReport& result : report.cases) {
    if (result.needs_vision) {
      cases.push_back({{"name", result.name}, {"status", "needs the vision tower: not run"}});
      continue;
    }
    cases.push_back({{"name", result.name},
                     {"status", result.passed ? "passed" : "failed"},
                     {"num_tokens", result.num_tokens},
                     {"logits", stats_json(result.logits)},
                     {"hidden", stats_json(result.hidden)},
                     {"vision", stats_json(result.vision)},
                     {"positions_wrong", result.num_positions_wrong},
                     {"ids", result.num_ids},
                     {"ids_equal", result.num_ids_equal},
                     {"ids_wrong", result.num_ids_wrong}});
  }
  return {{"passed", report.passed()},
          {"num_passed", report.num_passed},
          {"num_failed", report.num_failed},
          {"num_not_run", report.num_not_run},
          {"cases", std::move(cases)}};
}

}  // namespace deltaserve
