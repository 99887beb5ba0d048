// The gated feed-forward network: down(silu(gate x) * up x). Dense layers and shared experts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/weight_loader.h"
#include "model/workspace.h"

namespace deltaserve {

class Mlp {
 public:
  // Tensors {gate,up,down}_proj.weight under `prefix`. Errors are kept by the loader.
  Mlp(int64_t hidden_size, int64_t intermediate_size, const std::string& prefix,
      WeightLoader& loader);

  // gate and up of rows of a norm; the arguments of the product behind them, but for where it goes.
  LinearArgs run_gate_up(const Step& step, const NormedRows& x) const;

  const GateUpWeight& gate_up() const { return *gate_up_; }
  const LinearWeight& down_proj() const { return *down_proj_; }

 private:
  int64_t hidden_size_ = 0;        // H
  int64_t intermediate_size_ = 0;  // I
  std::unique_ptr<GateUpWeight> gate_up_;
  std::unique_ptr<LinearWeight> down_proj_;
};

}  // namespace deltaserve
