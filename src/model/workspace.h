// Every activation buffer of a forward pass, sized once for the largest step. Layers share them:
// a buffer's content lives from one op to the next within a layer.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "model/batch_buffers.h"
#include "model/config.h"
#include "model/device_buffer.h"
#include "ops/backend.h"

namespace deltaserve {

// Rows start on 64-byte borders: 32 elements of the narrowest compute dtype.
constexpr int64_t row_stride(int64_t width) {
  return (width + 31) / 32 * 32;
}

// Widths of the stacked input projections.
int64_t linear_projection_width(const ModelConfig& config);  // qkv | z | b | a
int64_t full_projection_width(const ModelConfig& config);    // q and gate | k | v

struct Workspace {
  DeviceBuffer residual;        // [T, H] float32
  DeviceBuffer normed;          // [T, H] X, input of mixer and FFN
  DeviceBuffer delta;           // [T, H] float32, output of mixer and FFN
  DeviceBuffer squares;         // [kNormSquares] float32, for the scale that `normed` may lack
  DeviceBuffer projected;       // [T, stride of the wider projection] X
  DeviceBuffer convolved;       // [T, C] X, then the gated norm's output
  DeviceBuffer core;            // [T, Hv dv or nh hd] X, output of delta rule or attention
  DeviceBuffer inner;           // [T, I of the dense or the shared MLP] X
  DeviceBuffer shared;          // [T, H] float32, output of the shared expert
  DeviceBuffer router;          // [T, E + 1] float32, the last column the shared expert's gate
  DeviceBuffer expert_ids;      // [T, K] int32
  DeviceBuffer expert_weights;  // [T, K] float32
  DeviceBuffer last_residual;   // [R, H] float32, rows whose logits are wanted
  DeviceBuffer last_delta;      // [R, H] float32
  DeviceBuffer last_normed;     // [R, H] X
  DeviceBuffer logits;          // [R, V] float32

  static int64_t bytes(const ModelConfig& config, DType compute_dtype, const StepLimits& limits);
  static Result<Workspace> allocate(const ModelConfig& config, Backend& backend,
                                    const StepLimits& limits);
};

// Rows that a norm made, and what they lack of it.
struct NormedRows {
  const void* rows = nullptr;  // [T, H] X
  NormScale scale = {};
};

// What a layer needs to run its part of a step.
struct Step {
  Backend& backend;
  const BatchView& batch;
  std::span<const PhaseView> phases;
  Workspace& workspace;
  int64_t T = 0;
  int64_t element_size = 0;  // of X

  // Element `offset` of a buffer of X.
  void* at(void* base, int64_t offset) const {
    return static_cast<std::byte*>(base) + offset * element_size;
  }

  // sum += x Wᵀ if the backend can, else delta = x Wᵀ, both float32 with args.out_stride; args.out
  // is not used. Returns what sum still lacks: delta or null.
  const float* add_linear(LinearArgs args, float* sum, float* delta) const {
    args.out = sum;
    args.out_float = true;
    if (backend.add_linear(args)) {
      return nullptr;
    }
    args.out = delta;
    backend.linear(args);
    return delta;
  }
};

}  // namespace deltaserve
