// Weights and memory of the tower, and the order in which its parts are run; vision_forward.cc has
// the parts themselves.
#include "model/vision_tower.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace deltaserve {
namespace {

constexpr double kRopeTheta = 10000.0;

// Rows of a part are a multiple of what the attention kernels take together, so that a small
// budget does not leave them half empty.
constexpr int64_t kPartStep = 96;

std::string tensor(std::string_view name) {
  return fmt::format("model.visual.{}", name);
}

std::unique_ptr<LinearWeight> load_linear(WeightLoader& loader, const std::string& name, int64_t N,
                                          int64_t K, DeviceBuffer& bias) {
  bias = loader.floats(tensor(name + ".bias"), {N});
  return loader.linear(tensor(name + ".weight"), N, K);
}

// [hidden, channels, frames, height, width] is a matrix over flattened patches.
std::unique_ptr<LinearWeight> load_patch_embed(const VisionConfig& config, WeightLoader& loader,
                                               DeviceBuffer& bias) {
  constexpr std::string_view kName = "patch_embed.proj";
  const int64_t hidden = config.hidden_size;
  bias = loader.floats(tensor(fmt::format("{}.bias", kName)), {hidden});
  TensorView view =
      loader.take(tensor(fmt::format("{}.weight", kName)),
                  {hidden, 3, config.temporal_patch_size, config.patch_size, config.patch_size});
  if (!loader.failed()) view.shape = {hidden, view.num_elements() / hidden};
  return loader.linear({&view, 1}, kName);
}

}  // namespace

VisionShape vision_shape(const VisionConfig& config) {
  return {.num_heads = config.num_heads, .head_dim = config.hidden_size / config.num_heads};
}

VisionBlock::VisionBlock(const VisionConfig& config, int32_t index, WeightLoader& loader) {
  const int64_t hidden = config.hidden_size;
  const int64_t inner = config.intermediate_size;
  const std::string block = fmt::format("blocks.{}.", index);
  norm1_weight = loader.floats(tensor(block + "norm1.weight"), {hidden});
  norm1_bias = loader.floats(tensor(block + "norm1.bias"), {hidden});
  norm2_weight = loader.floats(tensor(block + "norm2.weight"), {hidden});
  norm2_bias = loader.floats(tensor(block + "norm2.bias"), {hidden});
  qkv = load_linear(loader, block + "attn.qkv", 3 * hidden, hidden, qkv_bias);
  proj = load_linear(loader, block + "attn.proj", hidden, hidden, proj_bias);
  fc1 = load_linear(loader, block + "mlp.linear_fc1", inner, hidden, fc1_bias);
  fc2 = load_linear(loader, block + "mlp.linear_fc2", hidden, inner, fc2_bias);
}

VisionTower::VisionTower(const VisionConfig& config, Backend& backend, WeightLoader& loader)
    : config_(config), backend_(backend) {
  const int64_t hidden = config.hidden_size;
  const int64_t merged = hidden * config.spatial_merge_size * config.spatial_merge_size;
  const int64_t quarter = hidden / config.num_heads / 4;
  patch_embed_ = load_patch_embed(config, loader, patch_embed_bias_);
  positions_ = loader.floats(tensor("pos_embed.weight"), {config.num_position_embeddings, hidden});
  for (int32_t i = 0; i < config.depth && !loader.failed(); ++i) {
    blocks_.emplace_back(config, i, loader);
  }
  merger_norm_weight_ = loader.floats(tensor("merger.norm.weight"), {hidden});
  merger_norm_bias_ = loader.floats(tensor("merger.norm.bias"), {hidden});
  merger_fc1_ = load_linear(loader, "merger.linear_fc1", merged, merged, merger_fc1_bias_);
  merger_fc2_ =
      load_linear(loader, "merger.linear_fc2", config.out_hidden_size, merged, merger_fc2_bias_);
  std::vector<float> frequencies;
  for (int64_t i = 0; i < quarter; ++i) {
    const double exponent = static_cast<double>(i) / static_cast<double>(quarter);
    frequencies.push_back(static_cast<float>(std::pow(kRopeTheta, -exponent)));
  }
  inv_freq_ = loader.upload<float>(frequencies);
}

int64_t VisionTower::patch_width() const {
  return int64_t{3} * config_.temporal_patch_size * config_.patch_size * config_.patch_size;
}

int64_t VisionTower::staging_bytes() const {
  return kVisionPartRows * patch_width() * dtype_size(backend_.compute_dtype());
}

namespace {

using Planned = std::pair<DeviceBuffer*, int64_t>;

int64_t part_segments() {
  return kVisionPartRows + 1;
}

}  // namespace

// Passes of several frames are no larger than a part, so that a pass has the largest frame or that.
int64_t VisionTower::workspace_bytes(const StepLimits& limits) const {
  if (limits.max_frame_patches == 0) return 0;
  const int64_t P = std::max(limits.max_frame_patches, kVisionPartRows);
  const int64_t C = kVisionPartRows;
  const int64_t x = dtype_size(backend_.compute_dtype());
  const int64_t hidden = config_.hidden_size;
  const int64_t merge = int64_t{config_.spatial_merge_size} * config_.spatial_merge_size;
  const int64_t inner =
      std::max(C * config_.intermediate_size, kVisionPageRows * merge * hidden) * x;
  const int64_t per_patch = hidden * (4 + 4 * x) + 2 * 4;
  const int64_t per_part_row = (patch_width() + hidden) * x + hidden * 4 + 4 * (4 + 4);
  // A device's memory does not hold what waits on the host.
  const int64_t staging = backend_.has_own_memory() ? 0 : staging_bytes();
  return P * per_patch + C * per_part_row + inner + staging + 2 * part_segments() * 4 +
         limits.vision_pages * kVisionPageRows * config_.out_hidden_size * 4;
}

Result<void> VisionTower::allocate(const StepLimits& limits) {
  if (limits.max_frame_patches == 0) return {};
  max_frame_patches_ = limits.max_frame_patches;
  num_pages_ = limits.vision_pages;
  const int64_t P = std::max(limits.max_frame_patches, kVisionPartRows);
  const int64_t C = kVisionPartRows;
  const int64_t x = dtype_size(backend_.compute_dtype());
  const int64_t hidden = config_.hidden_size;
  const int64_t merge = int64_t{config_.spatial_merge_size} * config_.spatial_merge_size;
  const std::array<Planned, 12> plan = {{
      {&residual_, P * hidden * 4},
      {&normed_, P * hidden * x},
      {&qkv_, P * 3 * hidden * x},
      {&pixels_, C * patch_width() * x},
      {&attended_, C * hidden * x},
      {&inner_, std::max(C * config_.intermediate_size, kVisionPageRows * merge * hidden) * x},
      {&delta_, C * hidden * 4},
      {&coordinates_, 2 * P * 4},
      {&taps_, 4 * C * 4},
      {&tap_weights_, 4 * C * 4},
      {&segments_, 2 * part_segments() * 4},
      {&pool_, limits.vision_pages * kVisionPageRows * config_.out_hidden_size * 4},
  }};
  for (const auto& [buffer, bytes] : plan) {
    Result<DeviceBuffer> memory = DeviceBuffer::allocate(backend_, static_cast<size_t>(bytes));
    if (!memory) return std::unexpected(std::move(memory.error()));
    *buffer = std::move(*memory);
  }
  staging_.resize(static_cast<size_t>(staging_bytes()));
  return {};
}

Result<void> VisionTower::check(const VisionItem& item) const {
  const int32_t merge = config_.spatial_merge_size;
  const int32_t frames = config_.temporal_patch_size;
  const bool fits_frames = item.frames == 1 || item.frames == frames;
  const bool fits = fits_frames && item.merge_size == merge && item.grid_t > 0 && item.grid_h > 0 &&
                    item.grid_w > 0 && item.grid_h % merge == 0 && item.grid_w % merge == 0 &&
                    static_cast<int64_t>(item.patches.size()) ==
                        item.num_patches() * (patch_width() / frames) * item.frames;
  if (!fits) return invalid("a picture's patches are not cut for this model", "messages");
  if (int64_t{item.grid_h} * item.grid_w > max_frame_patches_) {
    return invalid(fmt::format("a picture of {} x {} patches is larger than the {} patches that "
                               "the vision tower has memory for",
                               item.grid_w, item.grid_h, max_frame_patches_),
                   "messages");
  }
  return {};
}

void VisionTower::begin(std::vector<VisionJob> jobs) {
  jobs_ = std::move(jobs);
  waiting_.clear();
  pass_.clear();
  stage_ = -1;
  for (const VisionJob& job : jobs_) {
    DS_CHECK(check(*job.item).has_value(), "an item that check() refuses");
    DS_CHECK(static_cast<int64_t>(job.pages.size()) * kVisionPageRows >= job.item->num_tokens());
    for (int32_t t = 0; t < job.item->grid_t; ++t) {
      waiting_.push_back({.job = &job,
                          .index = t,
                          .first = 0,
                          .count = int64_t{job.item->grid_h} * job.item->grid_w});
    }
  }
}

double VisionTower::advance(double flop) {
  double spent = 0.0;
  while (busy() && (spent == 0.0 || spent < flop)) {
    if (stage_ < 0) start_pass();
    const int64_t last_stage = 2 * static_cast<int64_t>(blocks_.size()) + 1;
    if (stage_ == last_stage) {
      const double merged = 4.0 * config_.hidden_size;
      spent += 2.0 * static_cast<double>(merged_[static_cast<size_t>(next_)].count) * merged *
               (merged + config_.out_hidden_size);
      merge(next_++);
      if (next_ == static_cast<int64_t>(merged_.size())) stage_ = -1;
      continue;
    }
    const double wanted = std::max(0.0, flop - spent) / row_flop();
    const int64_t rows =
        wanted >= static_cast<double>(kVisionPartRows)
            ? kVisionPartRows
            : std::max(int64_t{1}, static_cast<int64_t>(wanted) / kPartStep) * kPartStep;
    const int64_t end = std::min(num_patches_, next_ + rows);
    spent += static_cast<double>(end - next_) * row_flop();
    run_part(next_, end);
    next_ = end;
    if (next_ == num_patches_) {
      ++stage_;
      next_ = 0;
    }
  }
  if (!busy()) jobs_.clear();
  return spent;
}

// Of a row of the current stage.
double VisionTower::row_flop() const {
  const double hidden = config_.hidden_size;
  if (stage_ == 0) return 2.0 * static_cast<double>(patch_width()) * hidden;
  if (stage_ % 2 == 1) return 2.0 * 3.0 * hidden * hidden;
  const double keys =
      static_cast<double>(std::ranges::max_element(pass_, {}, &Frame::count)->count);
  return 2.0 * hidden * (hidden + 2.0 * config_.intermediate_size) + 4.0 * keys * hidden;
}

void VisionTower::start_pass() {
  pass_.clear();
  grids_.clear();
  merged_.clear();
  num_patches_ = 0;
  const int64_t merge = int64_t{config_.spatial_merge_size} * config_.spatial_merge_size;
  do {
    Frame frame = waiting_.front();
    waiting_.pop_front();
    frame.first = num_patches_;
    num_patches_ += frame.count;
    const VisionItem& item = *frame.job->item;
    grids_.push_back(make_vision_grid(item.grid_h, item.grid_w, item.merge_size));
    for (int64_t done = 0; done < frame.count / merge;) {
      const int64_t row = frame.index * (frame.count / merge) + done;
      const int64_t offset = row % kVisionPageRows;
      MergedRun run;
      run.first = frame.first / merge + done;
      run.count = std::min(kVisionPageRows - offset, frame.count / merge - done);
      run.to =
          frame.job->pages[static_cast<size_t>(row / kVisionPageRows)] * kVisionPageRows + offset;
      merged_.push_back(run);
      done += run.count;
    }
    pass_.push_back(frame);
  } while (!waiting_.empty() && num_patches_ + waiting_.front().count <= kVisionPartRows);
  std::vector<int32_t> coordinates;
  for (const auto member : {&VisionGrid::rows, &VisionGrid::columns}) {
    for (const VisionGrid& grid : grids_) {
      coordinates.insert(coordinates.end(), (grid.*member).begin(), (grid.*member).end());
    }
  }
  backend_.copy_to_device(coordinates_.data(), coordinates.data(),
                          coordinates.size() * sizeof(int32_t));
  stage_ = 0;
  next_ = 0;
}

}  // namespace deltaserve
