// The mixture-of-experts block: router, the K best experts a token, and a shared expert behind its
// own sigmoid gate.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/config.h"
#include "model/mlp.h"
#include "model/weight_loader.h"
#include "model/workspace.h"

namespace deltaserve {

class Moe {
 public:
  // Tensors under `prefix` ("...layers.N.mlp."), experts fused or one by one. Errors are kept by
  // the loader.
  Moe(const ModelConfig& config, const std::string& prefix, WeightLoader& loader);

  // The norm before the block. `delta` is null or what `residual` lacks.
  struct Norm {
    float* residual = nullptr;      // [T, H]
    const float* delta = nullptr;   // [T, H]
    const float* weight = nullptr;  // [H]
    float eps = 0.0F;
  };

  // residual += delta, normed [T, H] X = its norm. moe(normed) goes to `out` [T, H], which may be
  // `delta`, or is added to the residual at once. Returns what is still to be added: `out` or null.
  const float* forward(const Step& step, const Norm& norm, void* normed, float* out) const;

 private:
  MoeBlockArgs block(const Step& step, const Norm& norm, void* normed) const;

  MoeConfig moe_;
  int64_t hidden_size_ = 0;               // H
  std::unique_ptr<LinearWeight> router_;  // rows E experts | 1 shared expert's gate
  std::unique_ptr<ExpertsWeight> experts_;
  Mlp shared_expert_;
};

}  // namespace deltaserve
