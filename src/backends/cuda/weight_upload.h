// Making weights: shape checks, device memory, and the upload from mapped files.
#pragma once

#include <memory>
#include <span>

#include "backends/cuda/cuda_context.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/memory_ops.h"
#include "base/error.h"
#include "tensor/tensor_view.h"

namespace deltaserve {

class WeightUploader {
 public:
  WeightUploader(CudaContext& context, PinnedRing& ring) : context_(context), ring_(ring) {}

  // As Backend::make_*. Errors: dtype, shapes that do not fit together, an input width that is no
  // multiple of 8 (rows would not begin on 16-byte borders), no memory.
  Result<std::unique_ptr<LinearWeight>> linear(std::span<const TensorView> parts);
  Result<std::unique_ptr<GateUpWeight>> gate_up(const TensorView& gate, const TensorView& up);
  Result<std::unique_ptr<ExpertsWeight>> experts(std::span<const TensorView> gate,
                                                 std::span<const TensorView> up,
                                                 std::span<const TensorView> down);
  Result<std::unique_ptr<EmbeddingWeight>> embedding(const TensorView& table);

 private:
  int64_t x_size() const { return dtype_size(context_.compute_dtype); }
  Result<CudaMemory> allocate(int64_t elements);
  // Rows of `view` into the matrix at `to`, whose rows are as long.
  void rows(void* to, const TensorView& view, bool grouped, int64_t first_group);

  CudaContext& context_;
  PinnedRing& ring_;
  CudaMemory staging_;  // bytes as they are in the file, of one piece
};

}  // namespace deltaserve
