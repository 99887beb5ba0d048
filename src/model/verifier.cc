#include "model/verifier.h"

#include <limits>
#include <utility>

#include "model/embedding_copies.h"
#include "model/vision_tower.h"

namespace deltaserve {

Result<void> Verifier::prepare(const std::vector<const GoldenCase*>& cases) {
  int32_t num_blocks = 0;
  int32_t max_blocks = 0;
  StepLimits limits;
  for (const GoldenCase* golden : cases) {
    VerifyRun run;
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
Result<void> Verifier::place_pictures(VerifyRun& run, StepLimits& limits) {
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
  for (const VerifyRun& run : runs_) {
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
  for (VerifyRun& run : runs_) {
    int64_t recorded = 0;
    for (size_t i = 0; i < run.pages.size(); ++i) {
      for (int64_t r = 0; r < run.golden->items[i]->num_tokens(); ++r, ++recorded) {
        const int64_t at =
            run.pages[i][static_cast<size_t>(r / kVisionPageRows)] * kVisionPageRows +
            r % kVisionPageRows;
        model_.backend().copy_to_host(row.data(),
                                      tower.embeddings() + at * tower.config().out_hidden_size,
                                      width * sizeof(float));
        const float* reference = recorded_values(run.golden->vision_embeds, recorded);
        for (size_t d = 0; d < width; ++d) {
          run.report.vision.add(row[d], reference[d]);
        }
      }
    }
  }
}

void Verifier::run_all() {
  encode_pictures();
  std::vector<VerifyRun*> active;
  if (!options_.packed) {
    for (VerifyRun& run : runs_) {
      active.assign(1, &run);
      while (run.position < run.length()) {
        step(active);
      }
    }
    return;
  }
  for (;;) {
    active.clear();
    for (VerifyRun& run : runs_) {
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

void Verifier::add_sequence(VerifyRun& run) {
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

void Verifier::step(std::span<VerifyRun*> active) {
  const int32_t max_blocks = batch_.max_blocks_per_seq;
  batch_ = Batch{};
  batch_.max_blocks_per_seq = max_blocks;
  batch_.cu_seqlens.push_back(0);
  for (VerifyRun* run : active) {
    add_sequence(*run);
  }
  for (size_t axis = 0; axis < 3; ++axis) {
    for (const VerifyRun* run : active) {
      for (int32_t i = 0; i < run->scheduled; ++i) {
        batch_.positions.push_back(run->layout.position(run->position + i)[axis]);
      }
    }
  }
  const bool has_hidden = std::ranges::any_of(active, [](const VerifyRun* run) {
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
  for (VerifyRun* run : active) {
    run->position += run->scheduled;
  }
}

}  // namespace deltaserve
