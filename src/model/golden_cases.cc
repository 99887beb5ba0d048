// Reading and checking recorded cases.
#include "model/golden_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>

namespace deltaserve {

namespace {

constexpr std::string_view kInputIds = ".input_ids";

// Patches on a side, or frames: their product stays within 63 bits.
constexpr int32_t kMaxGrid = 1 << 16;

// Levels 0 to 255 are the values -1 to 1.
constexpr float kHalfRange = 127.5F;

std::unexpected<Error> bad_tensor(const std::string& name, std::string_view what) {
  return invalid(fmt::format("tensor \"{}\" {}", name, what), name);
}

// A list of int32 in [0, limit).
Result<std::vector<int32_t>> read_ids(const SafetensorsFile& file, const std::string& name,
                                      int64_t limit) {
  const TensorView* view = file.find(name);
  if (view == nullptr) {
    return bad_tensor(name, "is missing");
  }
  if (view->dtype != DType::kI32 || view->shape.size() != 1) {
    return bad_tensor(name, "must be a list of int32");
  }
  std::vector<int32_t> ids(static_cast<size_t>(view->shape[0]));
  if (!ids.empty()) {
    std::memcpy(ids.data(), view->data, ids.size() * sizeof(int32_t));
  }
  for (const int32_t id : ids) {
    if (id < 0 || id >= limit) {
      return bad_tensor(name, fmt::format("holds {}, outside 0 to {}", id, limit - 1));
    }
  }
  return ids;
}

Result<TensorView> read_rows(const SafetensorsFile& file, const std::string& name, size_t rows,
                             int32_t columns) {
  const TensorView* view = file.find(name);
  if (view == nullptr) {
    return bad_tensor(name, "is missing");
  }
  if (view->dtype != DType::kF32 ||
      view->shape != std::vector<int64_t>{static_cast<int64_t>(rows), columns}) {
    return bad_tensor(name, fmt::format("must be float32 of shape [{}, {}]", rows, columns));
  }
  return *view;
}

Result<void> read_prompt(const SafetensorsFile& file, const ModelConfig& config,
                         GoldenCase& golden) {
  Result<std::vector<int32_t>> ids =
      read_ids(file, golden.name + std::string(kInputIds), config.vocab_size);
  if (!ids) {
    return std::unexpected(std::move(ids.error()));
  }
  golden.input_ids = std::move(*ids);
  if (golden.input_ids.empty()) {
    return bad_tensor(golden.name + std::string(kInputIds), "is empty");
  }
  const std::string rows_name = golden.name + ".logits_rows";
  if (file.find(rows_name) == nullptr) {
    golden.logits_rows.resize(golden.input_ids.size());
    std::iota(golden.logits_rows.begin(), golden.logits_rows.end(), 0);
  } else {
    Result<std::vector<int32_t>> rows =
        read_ids(file, rows_name, static_cast<int64_t>(golden.input_ids.size()));
    if (!rows) {
      return std::unexpected(std::move(rows.error()));
    }
    golden.logits_rows = std::move(*rows);
    for (size_t i = 1; i < golden.logits_rows.size(); ++i) {
      if (golden.logits_rows[i] <= golden.logits_rows[i - 1]) {
        return bad_tensor(rows_name, "must ascend");
      }
    }
  }
  Result<TensorView> logits =
      read_rows(file, golden.name + ".logits", golden.logits_rows.size(), config.vocab_size);
  if (!logits) {
    return std::unexpected(std::move(logits.error()));
  }
  golden.logits = std::move(*logits);
  return {};
}

Result<void> read_hidden(const SafetensorsFile& file, const ModelConfig& config,
                         GoldenCase& golden) {
  const std::string prefix = golden.name + ".hidden.";
  if (file.find(prefix + "0") == nullptr) {
    return {};
  }
  for (int32_t i = 0; i <= config.num_hidden_layers; ++i) {
    Result<TensorView> rows =
        read_rows(file, prefix + std::to_string(i), golden.input_ids.size(), config.hidden_size);
    if (!rows) {
      return std::unexpected(std::move(rows.error()));
    }
    golden.hidden.push_back(std::move(*rows));
  }
  return {};
}

Result<void> read_greedy(const SafetensorsFile& file, const ModelConfig& config,
                         GoldenCase& golden) {
  const std::string name = golden.name + ".greedy_ids";
  if (file.find(name) == nullptr) {
    return {};
  }
  Result<std::vector<int32_t>> ids = read_ids(file, name, config.vocab_size);
  if (!ids) {
    return std::unexpected(std::move(ids.error()));
  }
  golden.greedy_ids = std::move(*ids);
  Result<TensorView> logits =
      read_rows(file, golden.name + ".greedy_logits", golden.greedy_ids.size(), config.vocab_size);
  if (!logits) {
    return std::unexpected(std::move(logits.error()));
  }
  golden.greedy_logits = std::move(*logits);
  return {};
}

// A matrix of int32 with `columns` columns.
Result<std::vector<int32_t>> read_matrix(const SafetensorsFile& file, const std::string& name,
                                         int64_t columns) {
  const TensorView* view = file.find(name);
  if (view == nullptr || view->dtype != DType::kI32 || view->shape.size() != 2 ||
      view->shape[1] != columns) {
    return bad_tensor(name, fmt::format("must be int32 with {} columns", columns));
  }
  std::vector<int32_t> values(static_cast<size_t>(view->num_elements()));
  if (!values.empty()) {
    std::memcpy(values.data(), view->data, values.size() * sizeof(int32_t));
  }
  return values;
}

// A sample from -1 to 1 as its level of 0 to 255; none for a value between two levels.
std::optional<uint8_t> level_of(float value) {
  constexpr float kTolerance = 1e-3F;
  const float exact = value * kHalfRange + kHalfRange;
  const float level = std::nearbyint(exact);
  if (!(level >= 0.0F && level <= 255.0F && std::abs(exact - level) <= kTolerance)) {
    return std::nullopt;
  }
  return static_cast<uint8_t>(level);
}

// Patches as levels, [N, W].
Result<std::vector<uint8_t>> read_patches(const SafetensorsFile& file, const std::string& name,
                                          int64_t width) {
  const TensorView& view = *file.find(name);
  if (view.shape.size() != 2 || view.shape[1] != width) {
    return bad_tensor(name, fmt::format("must have {} columns", width));
  }
  std::vector<uint8_t> levels(static_cast<size_t>(view.num_elements()));
  if (view.dtype == DType::kU8) {
    std::ranges::transform(std::span(view.data, levels.size()), levels.begin(),
                           [](std::byte level) { return std::to_integer<uint8_t>(level); });
    return levels;
  }
  if (view.dtype != DType::kF32) {
    return bad_tensor(name, "must be float32 or uint8");
  }
  const std::vector<float> values = to_float_vector(view);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::optional<uint8_t> level = level_of(values[i]);
    if (!level) {
      return bad_tensor(
          name, fmt::format("holds {}, which is none of 256 levels from -1 to 1", values[i]));
    }
    levels[i] = *level;
  }
  return levels;
}

Result<void> split_items(const std::vector<uint8_t>& patches, const std::vector<int32_t>& grids,
                         const VisionConfig& vision, int64_t width, GoldenCase& golden) {
  auto next = patches.begin();
  for (size_t i = 0; i < grids.size(); i += 3) {
    auto item = std::make_shared<VisionItem>();
    item->grid_t = grids[i];
    item->grid_h = grids[i + 1];
    item->grid_w = grids[i + 2];
    item->merge_size = vision.spatial_merge_size;
    item->is_video = item->grid_t > 1;
    item->frames = vision.temporal_patch_size;
    item->offset.fill(kHalfRange);
    item->scale.fill(kHalfRange);
    const bool in_range = std::ranges::all_of(
        std::span(grids).subspan(i, 3), [](int32_t size) { return size > 0 && size <= kMaxGrid; });
    const int64_t values = in_range ? item->num_patches() * width : 0;
    if (!in_range || values > patches.end() - next) {
      return bad_tensor(golden.name + ".grid_thw", "does not fit the patches");
    }
    item->patches.assign(next, next + values);
    next += values;
    golden.items.push_back(std::move(item));
  }
  return {};
}

Result<void> read_vision(const SafetensorsFile& file, const ModelConfig& config,
                         GoldenCase& golden) {
  const std::string pixels = golden.name + ".pixel_values";
  if (file.find(pixels) == nullptr) {
    return {};
  }
  golden.has_pictures = true;
  if (!config.vision) {
    return {};
  }
  const VisionConfig& vision = *config.vision;
  const int64_t width =
      int64_t{3} * vision.temporal_patch_size * vision.patch_size * vision.patch_size;
  const Result<std::vector<uint8_t>> patches = read_patches(file, pixels, width);
  if (!patches) {
    return std::unexpected(patches.error());
  }
  const Result<std::vector<int32_t>> grids = read_matrix(file, golden.name + ".grid_thw", 3);
  if (!grids) {
    return std::unexpected(grids.error());
  }
  if (Result<void> split = split_items(*patches, *grids, vision, width, golden); !split) {
    return split;
  }
  size_t num_tokens = 0;
  for (const auto& item : golden.items) {
    num_tokens += static_cast<size_t>(item->num_tokens());
  }
  Result<TensorView> embeds =
      read_rows(file, golden.name + ".vision_embeds", num_tokens, vision.out_hidden_size);
  if (!embeds) {
    return std::unexpected(std::move(embeds.error()));
  }
  golden.vision_embeds = std::move(*embeds);
  const std::string positions = golden.name + ".position_ids";
  if (file.find(positions) != nullptr) {
    Result<std::vector<int32_t>> ids =
        read_matrix(file, positions, static_cast<int64_t>(golden.input_ids.size()));
    if (!ids || ids->size() != 3 * golden.input_ids.size()) {
      return bad_tensor(positions, "must be int32 of shape [3, T]");
    }
    golden.position_ids = std::move(*ids);
  }
  return {};
}

}  // namespace

Result<std::vector<GoldenCase>> read_golden_cases(const SafetensorsFile& file,
                                                  const ModelConfig& config) {
  std::vector<GoldenCase> cases;
  for (const auto& [tensor, view] : file.tensors()) {
    if (!tensor.ends_with(kInputIds)) {
      continue;
    }
    GoldenCase golden;
    golden.name = tensor.substr(0, tensor.size() - kInputIds.size());
    for (const auto& read : {read_prompt, read_hidden, read_greedy, read_vision}) {
      if (Result<void> part = read(file, config, golden); !part) {
        return std::unexpected(std::move(part.error()));
      }
    }
    cases.push_back(std::move(golden));
  }
  if (cases.empty()) {
    return invalid("the file holds no case: no tensor is named NAME.input_ids");
  }
  return cases;
}

}  // namespace deltaserve
