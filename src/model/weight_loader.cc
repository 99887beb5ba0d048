// Name, shape and dtype checks, and the account of which tensors a model has used.
#include "model/weight_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

namespace deltaserve {

namespace {

constexpr std::string_view kVisionPrefix = "model.visual.";
constexpr std::string_view kMtpPrefix = "mtp.";

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (const int64_t size : shape) {
    text += text.size() == 1 ? "" : ", ";
    text += std::to_string(size);
  }
  text += ']';
  return text;
}

}  // namespace

WeightLoader::WeightLoader(const Checkpoint& checkpoint, Backend& backend,
                           const ProgressCallback& on_progress,
                           const LoadQuantization& quantization)
    : checkpoint_(checkpoint),
      backend_(backend),
      on_progress_(on_progress),
      quantization_(quantization) {
  for (const std::string& name : checkpoint.names()) {
    if (!is_left_out(name)) {
      total_bytes_ += checkpoint.find(name)->num_bytes();
    }
  }
}

bool WeightLoader::is_left_out(std::string_view name) const {
  return name.starts_with(kMtpPrefix) || (leaves_out_vision_ && name.starts_with(kVisionPrefix));
}

void WeightLoader::leave_out_vision() {
  leaves_out_vision_ = true;
  for (const std::string& name : checkpoint_.names()) {
    if (name.starts_with(kVisionPrefix)) {
      total_bytes_ -= checkpoint_.find(name)->num_bytes();
    }
  }
}

void WeightLoader::fail_with(Error error) {
  if (!error_) {
    error_ = std::move(error);
  }
}

// Bits of a tensor, 0 if it is a float one, stored or asked for.
int32_t WeightLoader::bits_of(std::string_view name) const {
  return quantization_.config ? quantized_bits(name, *quantization_.config) : 0;
}

bool WeightLoader::has(std::string_view name) const {
  const bool is_stored = quantization_.stored && bits_of(name) != 0;
  return checkpoint_.find(is_stored ? codes_name(name) : std::string(name)) != nullptr;
}

TensorView WeightLoader::take(const std::string& name, const std::vector<int64_t>& shape) {
  const int32_t bits = bits_of(name);
  if (bits != 0 && quantization_.stored) {
    return take_stored(name, shape, bits);
  }
  const TensorView view = take_float(name, shape);
  return bits == 0 || failed() ? view : quantize(name, view, bits);
}

TensorView WeightLoader::quantize(const std::string& name, const TensorView& view, int32_t bits) {
  const auto threads =
      std::max<int32_t>(1, static_cast<int32_t>(std::thread::hardware_concurrency()));
  Result<QuantizedTensor> quantized = QuantizedTensor::make(view, bits, threads);
  if (!quantized) {
    fail_with({.code = ErrorCode::kInvalidArgument,
               .message = fmt::format("tensor \"{}\" {}", name, quantized.error().message),
               .param = name,
               .api_code = {}});
    return {};
  }
  drop_mapped_pages(view);
  quantized_.push_back(std::move(*quantized));
  return quantized_.back().view();
}

TensorView WeightLoader::take_stored(const std::string& name, const std::vector<int64_t>& shape,
                                     int32_t bits) {
  TensorView view;
  view.quantization = {.bits = bits, .group_size = quantization_group(bits), .scales = nullptr};
  view.shape = shape;
  std::vector<int64_t> scales_shape = shape;
  scales_shape.back() = view.num_groups();
  std::vector<int64_t> codes_shape = shape;
  if (bits == 4) {
    if (shape.back() % 2 != 0) {
      fail_with({.code = ErrorCode::kInvalidArgument,
                 .message = fmt::format("tensor \"{}\": 4 bits need an even number of columns, "
                                        "config.json asks for {}",
                                        codes_name(name), shape.back()),
                 .param = name,
                 .api_code = {}});
      return {};
    }
    codes_shape.back() /= 2;
  }
  view.dtype = bits == 4 ? DType::kU8 : DType::kI8;
  const TensorView codes = take_raw(codes_name(name), view.dtype, codes_shape);
  const TensorView scales = take_raw(scales_name(name), DType::kBF16, scales_shape);
  if (failed()) {
    return {};
  }
  view.data = codes.data;
  view.quantization.scales = scales.data;
  return view;
}

// A tensor of exactly this dtype and shape.
TensorView WeightLoader::take_raw(const std::string& name, DType dtype,
                                  const std::vector<int64_t>& shape) {
  if (failed()) {
    return {};
  }
  const TensorView* view = checkpoint_.find(name);
  if (view == nullptr || view->dtype != dtype || view->shape != shape) {
    const std::string found =
        view == nullptr ? "is missing"
                        : fmt::format("is {} {}", dtype_name(view->dtype), shape_text(view->shape));
    fail_with({.code = ErrorCode::kInvalidArgument,
               .message = fmt::format("tensor \"{}\" {}; config.json asks for {} {}", name, found,
                                      dtype_name(dtype), shape_text(shape)),
               .param = name,
               .api_code = {}});
    return {};
  }
  if (taken_.insert(name).second) {
    done_bytes_ += view->num_bytes();
  }
  return *view;
}

TensorView WeightLoader::take_float(const std::string& name, const std::vector<int64_t>& shape) {
  if (failed()) {
    return {};
  }
  const TensorView* view = checkpoint_.find(name);
  if (view == nullptr) {
    fail_with({.code = ErrorCode::kInvalidArgument,
               .message = fmt::format("the checkpoint has no tensor \"{}\" of shape {}", name,
                                      shape_text(shape)),
               .param = name,
               .api_code = {}});
    return {};
  }
  const bool is_float =
      view->dtype == DType::kF32 || view->dtype == DType::kBF16 || view->dtype == DType::kF16;
  if (view->shape != shape || !is_float) {
    fail_with({.code = ErrorCode::kInvalidArgument,
               .message = fmt::format("tensor \"{}\" is {} {}; config.json asks for {} of float32, "
                                      "bfloat16 or float16",
                                      name, dtype_name(view->dtype), shape_text(view->shape),
                                      shape_text(shape)),
               .param = name,
               .api_code = {}});
    return {};
  }
  if (taken_.insert(name).second) {
    done_bytes_ += view->num_bytes();
  }
  return *view;
}

template <typename T>
std::unique_ptr<T> WeightLoader::keep_weight(Result<std::unique_ptr<T>> weight,
                                             std::string_view name) {
  if (weight) {
    return std::move(*weight);
  }
  Error error = std::move(weight.error());
  error.message = fmt::format("{}: {}", name, error.message);
  fail_with(std::move(error));
  return nullptr;
}

DeviceBuffer WeightLoader::keep(Result<DeviceBuffer> buffer, std::string_view name) {
  if (buffer) {
    weight_bytes_ += static_cast<int64_t>(buffer->bytes());
    return std::move(*buffer);
  }
  Error error = std::move(buffer.error());
  error.message = fmt::format("{}: {}", name, error.message);
  fail_with(std::move(error));
  return {};
}

void WeightLoader::done_with(std::span<const TensorView> views) {
  for (const TensorView& view : views) {
    const auto made_here = std::ranges::find_if(quantized_, [&](const QuantizedTensor& tensor) {
      const std::byte* begin = tensor.view().data;
      return !std::less<>{}(view.data, begin) &&
             std::less<>{}(view.data, begin + tensor.view().num_bytes());
    });
    if (made_here != quantized_.end()) {
      quantized_.erase(made_here);
      continue;
    }
    drop_mapped_pages(view);
  }
  if (on_progress_) {
    on_progress_(done_bytes_, total_bytes_);
  }
}

std::unique_ptr<LinearWeight> WeightLoader::linear(std::span<const TensorView> parts,
                                                   std::string_view name) {
  if (failed()) {
    return nullptr;
  }
  std::unique_ptr<LinearWeight> weight = keep_weight(backend_.make_linear(parts), name);
  weight_bytes_ += weight == nullptr ? 0 : weight->bytes;
  done_with(parts);
  return weight;
}

std::unique_ptr<LinearWeight> WeightLoader::linear(const std::string& name, int64_t N, int64_t K) {
  const TensorView view = take(name, {N, K});
  return linear({&view, 1}, name);
}

std::unique_ptr<GateUpWeight> WeightLoader::gate_up(const std::string& prefix, int64_t I,
                                                    int64_t K) {
  const TensorView views[] = {take(prefix + "gate_proj.weight", {I, K}),
                              take(prefix + "up_proj.weight", {I, K})};
  if (failed()) {
    return nullptr;
  }
  std::unique_ptr<GateUpWeight> weight =
      keep_weight(backend_.make_gate_up(views[0], views[1]), prefix + "gate_proj");
  weight_bytes_ += weight == nullptr ? 0 : weight->bytes;
  done_with(views);
  return weight;
}

std::unique_ptr<ExpertsWeight> WeightLoader::experts(std::span<const TensorView> gate,
                                                     std::span<const TensorView> up,
                                                     std::span<const TensorView> down,
                                                     std::string_view name) {
  if (failed()) {
    return nullptr;
  }
  std::unique_ptr<ExpertsWeight> weight = keep_weight(backend_.make_experts(gate, up, down), name);
  weight_bytes_ += weight == nullptr ? 0 : weight->bytes_per_expert * weight->E;
  for (const auto& views : {gate, up, down}) {
    done_with(views);
  }
  return weight;
}

std::unique_ptr<EmbeddingWeight> WeightLoader::embedding(const TensorView& table,
                                                         std::string_view name) {
  return failed() ? nullptr : keep_weight(backend_.make_embedding(table), name);
}

std::unique_ptr<LinearWeight> WeightLoader::tied_head(const TensorView& table) {
  const std::string name = "lm_head.weight";
  const int32_t bits = bits_of(name);
  if (failed() || bits == 0) {
    return linear({&table, 1}, "lm_head (embed_tokens)");
  }
  const TensorView head =
      quantization_.stored ? take(name, table.shape) : quantize(name, table, bits);
  return linear({&head, 1}, name);
}

DeviceBuffer WeightLoader::floats(const std::string& name, const std::vector<int64_t>& shape) {
  const TensorView view = take(name, shape);
  if (failed()) {
    return {};
  }
  const std::vector<float> values = to_float_vector(view);
  return keep(DeviceBuffer::upload<float>(backend_, values), name);
}

bool WeightLoader::has_vision() const {
  return std::ranges::any_of(
      checkpoint_.names(), [](const std::string& name) { return name.starts_with(kVisionPrefix); });
}

Result<void> WeightLoader::finish() {
  for (const std::string& name : checkpoint_.names()) {
    if (!failed() && !taken_.contains(name) && !is_left_out(name)) {
      fail_with({.code = ErrorCode::kInvalidArgument,
                 .message = fmt::format("tensor \"{}\" {} belongs to nothing that config.json "
                                        "describes",
                                        name, shape_text(checkpoint_.find(name)->shape)),
                 .param = name,
                 .api_code = {}});
    }
  }
  if (failed()) {
    return std::unexpected(*error_);
  }
  return {};
}

}  // namespace deltaserve
