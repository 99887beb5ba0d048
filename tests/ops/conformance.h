// Helpers of the conformance suite: the backends to compare, buffers on a backend, packed batches
// with shuffled blocks, random values and comparisons. A test is written once over Backend& and is
// compiled into a program a backend: test_ops (cpu_cases.cc) and test_ops_cuda
// (cuda/cuda_cases.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "ops/backend.h"
#include "tensor/dtype.h"

namespace deltaserve {

struct BackendCase {
  DType x_dtype = DType::kF32;
  CpuIsa isa = CpuIsa::kPortable;  // CPU only
  int32_t threads = 2;             // CPU only
  int64_t max_tokens = 1024;       // of the largest step that is reserved
  bool batch_invariant = false;    // CUDA only
  bool fp16_delta_rule = false;    // CUDA only
};

// "avx512_bfloat16": the parameter's name in test output.
std::string case_name(const BackendCase& backend_case);

// Every variant of the program's backend on this machine x {float32, bfloat16}.
std::vector<BackendCase> all_cases();
// Those, and others that differ in gated_delta_rule only.
std::vector<BackendCase> delta_rule_cases();
// Those of all_cases that promise a row the same bits in any batch and for any cut of a prompt.
std::vector<BackendCase> bit_exact_cases();

inline std::vector<BackendCase> all_cpu_cases() {
  return all_cases();
}

std::unique_ptr<Backend> make_case_backend(const BackendCase& backend_case);

// Memory of a backend that holds floats of `dtype` (kF32 or kBF16).
class DeviceTensor {
 public:
  // Values are rounded to `dtype` on the way.
  DeviceTensor(Backend& backend, DType dtype, const std::vector<float>& values);
  DeviceTensor(Backend& backend, DType dtype, size_t count);  // zeros
  ~DeviceTensor();
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }
  std::vector<float> values() const;

 private:
  Backend& backend_;
  DType dtype_;
  size_t count_ = 0;
  void* data_ = nullptr;
};

// Plain bytes or integers on a backend.
template <typename T>
class DeviceArray {
 public:
  DeviceArray(Backend& backend, const std::vector<T>& values)
      : backend_(backend), count_(values.size()) {
    data_ = static_cast<T*>(backend.allocate((count_ + 1) * sizeof(T)).value());
    backend.copy_to_device(data_, values.data(), count_ * sizeof(T));
  }
  ~DeviceArray() { backend_.release(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> out(count_);
    backend_.copy_to_host(out.data(), data_, count_ * sizeof(T));
    return out;
  }

 private:
  Backend& backend_;
  size_t count_ = 0;
  T* data_ = nullptr;
};

// One sequence of a step.
struct SequenceRows {
  int32_t context_len = 0;
  int32_t rows = 0;
  int32_t slot = 0;             // of the state pools
  std::vector<int32_t> blocks;  // block ids that cover context_len + rows tokens
  bool recurrent = false;
};

// Sequences with state slots 0.. and block ids in a shuffled order.
std::vector<SequenceRows> make_sequences(
    const std::vector<std::pair<int32_t, int32_t>>& context_rows, uint32_t seed);
int32_t count_blocks(const std::vector<SequenceRows>& sequences);  // largest block id + 1

// The arrays of a BatchView on a backend. Positions are those of text: context_len + row.
class DeviceBatch {
 public:
  DeviceBatch(Backend& backend, const std::vector<SequenceRows>& sequences);
  const BatchView* view() const { return &view_; }

 private:
  std::vector<std::unique_ptr<DeviceArray<int32_t>>> arrays_;
  std::unique_ptr<DeviceArray<uint8_t>> recurrent_;
  BatchView view_;
};

// Normal values of standard deviation `scale`.
std::vector<float> random_values(size_t count, uint32_t seed, float scale = 1.0F);

// |actual - expected| <= absolute + relative * |expected| for all, NaN only where NaN is expected.
// Prints the worst element.
void expect_close(const std::vector<float>& actual, const std::vector<float>& expected,
                  double relative, double absolute, const std::string& what);

// Two float vectors bit by bit.
void expect_same_bits(const std::vector<float>& actual, const std::vector<float>& expected,
                      const std::string& what);

// Relative tolerance of a value rounded to X: one unit in the last place of bfloat16 (up to 2^-7 of
// the value), where a float32 error in the last bit can end; for float32 2^-19, the slack of a sum
// of some hundred terms.
double x_tolerance(DType x_dtype);

}  // namespace deltaserve
