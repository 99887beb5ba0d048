// A model runner that computes nothing: it adds up what the step would cost on the clock and draws
// the tokens that the trace says. A request is known by its seed, which is its number in the trace.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/model_runner.h"
#include "gpu_cost.h"

namespace deltaserve {

class SimRunner : public ModelRunner {
 public:
  explicit SimRunner(const GpuCost& cost) : cost_(&cost) {}

  void run(const Batch& batch, std::span<const SamplingRow> rows,
           std::span<SampledToken> sampled) override;

  // What request `seed` is to answer, until forget().
  void script(uint64_t seed, std::vector<int32_t> tokens) { scripts_[seed] = std::move(tokens); }
  void forget(uint64_t seed) { scripts_.erase(seed); }

  double last_step_seconds() const { return last_step_seconds_; }
  double busy_seconds() const { return busy_seconds_; }  // of all steps so far
  int64_t num_restores() const { return num_restores_; }
  int64_t num_snapshots() const { return num_snapshots_; }

 private:
  const GpuCost* cost_;
  std::unordered_map<uint64_t, std::vector<int32_t>> scripts_;
  double last_step_seconds_ = 0.0;
  double busy_seconds_ = 0.0;
  int64_t num_restores_ = 0;
  int64_t num_snapshots_ = 0;
};

}  // namespace deltaserve
