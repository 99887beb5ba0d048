// Takes tensors of a checkpoint by name and shape and hands them to the backend, straight from the
// mapped file. Keeps account: at the end every tensor has been taken, belongs to a part that is
// left out (MTP, a vision tower that config.json lacks), or is an error. The first error is kept;
// later calls then do nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/config.h"
#include "model/device_buffer.h"
#include "model/model.h"
#include "model/quantization.h"
#include "ops/backend.h"
#include "tensor/checkpoint.h"
#include "tensor/quantize.h"

namespace deltaserve {

// How matrices become quantised: as the checkpoint has them, or here, one by one.
struct LoadQuantization {
  std::optional<QuantizationConfig> config = {};
  bool stored = false;
};

class WeightLoader {
 public:
  WeightLoader(const Checkpoint& checkpoint, Backend& backend, const ProgressCallback& on_progress,
               const LoadQuantization& quantization = {});

  bool has(std::string_view name) const;
  bool has_vision() const;  // any tensor of the vision tower
  // For a config.json without a tower: its tensors are left alone then.
  void leave_out_vision();
  // A tensor of exactly this shape: float32, bfloat16 or float16, or quantised if its name is one
  // of those that are (model/quantization.h). A quantised view made here lives until it is handed
  // on. After an error the view is empty.
  TensorView take(const std::string& name, const std::vector<int64_t>& shape);
  // The same, never quantised here.
  TensorView take_float(const std::string& name, const std::vector<int64_t>& shape);

  // Repacked weights. `name` says in errors what they are; null after an error.
  std::unique_ptr<LinearWeight> linear(std::span<const TensorView> parts, std::string_view name);
  std::unique_ptr<LinearWeight> linear(const std::string& name, int64_t N, int64_t K);
  std::unique_ptr<GateUpWeight> gate_up(const std::string& prefix, int64_t I, int64_t K);
  std::unique_ptr<ExpertsWeight> experts(std::span<const TensorView> gate,
                                         std::span<const TensorView> up,
                                         std::span<const TensorView> down, std::string_view name);
  // The head that shares the table of the embeddings, quantised if heads are.
  std::unique_ptr<LinearWeight> tied_head(const TensorView& table);
  std::unique_ptr<EmbeddingWeight> embedding(const TensorView& table, std::string_view name);

  // A tensor as float32 on the device.
  DeviceBuffer floats(const std::string& name, const std::vector<int64_t>& shape);
  // Host values on the device.
  template <typename T>
  DeviceBuffer upload(std::span<const T> values) {
    Result<DeviceBuffer> buffer = DeviceBuffer::upload<T>(backend_, values);
    return keep(std::move(buffer), "a constant");
  }

  // Checks that nothing is left over. Errors: the first one met, or the tensor that belongs to
  // nothing, or the vision tensor that is missing or misshaped.
  Result<void> finish();

  bool failed() const { return error_.has_value(); }
  void fail_with(Error error);
  int64_t weight_bytes() const { return weight_bytes_; }  // held by the backend

 private:
  int32_t bits_of(std::string_view name) const;
  bool is_left_out(std::string_view name) const;
  TensorView take_stored(const std::string& name, const std::vector<int64_t>& shape, int32_t bits);
  TensorView take_raw(const std::string& name, DType dtype, const std::vector<int64_t>& shape);
  TensorView quantize(const std::string& name, const TensorView& view, int32_t bits);
  DeviceBuffer keep(Result<DeviceBuffer> buffer, std::string_view name);
  template <typename T>
  std::unique_ptr<T> keep_weight(Result<std::unique_ptr<T>> weight, std::string_view name);
  void done_with(std::span<const TensorView> views);

  const Checkpoint& checkpoint_;
  Backend& backend_;
  const ProgressCallback& on_progress_;
  LoadQuantization quantization_;
  std::vector<QuantizedTensor> quantized_;  // made here and not handed on yet
  std::set<std::string, std::less<>> taken_;
  std::optional<Error> error_;
  int64_t weight_bytes_ = 0;
  int64_t done_bytes_ = 0;
  int64_t total_bytes_ = 0;
  bool leaves_out_vision_ = false;
};

}  // namespace deltaserve
