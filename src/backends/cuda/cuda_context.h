// What every CUDA op gets beside its arguments: the stream that all work goes to, what the device
// is, and scratch memory. Ops run one after the other on the stream, so each uses the scratch from
// its start. Read by nvcc too: C++20, no std::expected.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>

#include "backends/cuda/side_stream.h"
#include "ops/limits.h"
#include "tensor/dtype.h"

namespace deltaserve {

// A failed call of the CUDA runtime or of cuBLASLt: the step fails, not the process.
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws CudaError with the place of the call, or DeviceLost if no later call can succeed.
void check_cuda(cudaError_t error, std::source_location where = std::source_location::current());

struct CudaDevice {
  int32_t ordinal = 0;
  std::string name;
  int32_t arch = 0;          // 90 for compute capability 9.0
  int32_t num_sms = 0;       // streaming multiprocessors
  int32_t shared_bytes = 0;  // shared memory that a block may opt in to
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
};

// Makes `ordinal` the device of this thread and asks what it is.
CudaDevice describe_cuda_device(int32_t ordinal);

// Device memory, released with its owner. Not zeroed.
class CudaMemory {
 public:
  CudaMemory() = default;
  explicit CudaMemory(size_t bytes);  // throws std::bad_alloc if the device has no more
  CudaMemory(CudaMemory&& other) noexcept;
  CudaMemory& operator=(CudaMemory&& other) noexcept;
  ~CudaMemory();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

class LtMatmul;

class CudaContext {
 public:
  CudaContext(DType dtype, int32_t ordinal, bool invariant = false, bool fp16_rule = false);
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  ~CudaContext();

  const DType compute_dtype;  // X: kF32 or kBF16
  const CudaDevice device;
  const bool batch_invariant;  // a row's bits must not depend on how many rows there are
  const bool fp16_delta_rule;  // operands of the chunked delta rule: float16, not bfloat16
  const cudaStream_t stream;
  SideStream side;  // for an op that has work to do beside its main kernel

  // The largest step there will be; zeros until `reserve`.
  StepLimits limits;

  // From now on scratch, zeros and meeting must be enough: more is a broken invariant.
  void end_scratch_growth() { scratch_planned_ = true; }

  // Scratch of at least `bytes`, 256-byte aligned, content undefined. An op asks for what its
  // largest step of `limits` takes on every path it has, so that only its first call grows the
  // scratch; growing waits for the stream and is refused while a graph is captured. What came
  // before is gone then: an op that calls others asks for its own after them.
  template <typename T = void>
  T* scratch(size_t bytes) {
    return static_cast<T*>(grow(scratch_, bytes, false));
  }

  // Device memory that so many bytes of scratch, zeros or meeting take.
  static size_t scratch_size(size_t bytes);

  // Changes whenever scratch, zeros or meeting move: what has their addresses is then out of date.
  int64_t scratch_generation() const { return scratch_generation_; }

  LtMatmul& matmul() { return *matmul_; }

  // `count` integers that are zero; an op that changes them leaves zeros behind.
  int32_t* zeros(size_t count) {
    return static_cast<int32_t*>(grow(zeros_, count * sizeof(int32_t), true));
  }

  // `bytes` for what the thread blocks of moe_one.cu tell each other: zero at first, then as its
  // last launch left it.
  void* meeting(size_t bytes) { return grow(meeting_, bytes, true); }

 private:
  void* grow(CudaMemory& memory, size_t bytes, bool zeroed);

  std::unique_ptr<LtMatmul> matmul_;
  CudaMemory scratch_;
  CudaMemory zeros_;
  CudaMemory meeting_;
  int64_t scratch_generation_ = 0;
  bool scratch_planned_ = false;
};

}  // namespace deltaserve
