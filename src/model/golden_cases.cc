// Reading and checking recorded cases.
#include "model/golden_cases.h"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

namespace deltaserve {

namespace {

constexpr std::string_view kInputIds = ".input_ids";

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
    golden.needs_vision = file.find(golden.name + ".pixel_values") != nullptr;
    if (!golden.needs_vision) {
      for (const auto& read : {read_prompt, read_hidden, read_greedy}) {
        if (Result<void> part = read(file, config, golden); !part) {
          return std::unexpected(std::move(part.error()));
        }
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
