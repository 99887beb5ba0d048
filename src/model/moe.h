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

  // out [T, H] = moe(x [T, H]), both X.
  void forward(const Step& step, const void* x, float* out) const;

 private:
  MoeConfig moe_;
  int64_t hidden_size_ = 0;               // H
  std::unique_ptr<LinearWeight> router_;  // rows E experts | 1 shared expert's gate
  std::unique_ptr<ExpertsWeight> experts_;
  Mlp shared_expert_;
};

}  // namespace deltaserve
