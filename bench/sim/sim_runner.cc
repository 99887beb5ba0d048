// Scripted draws.
#include "sim_runner.h"

#include "base/check.h"

namespace deltaserve {

void SimRunner::run(const Batch& batch, std::span<const SamplingRow> rows,
                    std::span<SampledToken> sampled) {
  last_step_seconds_ = cost_->step_seconds(batch);
  busy_seconds_ += last_step_seconds_;
  num_restores_ += static_cast<int64_t>(batch.restores.size());
  num_snapshots_ += static_cast<int64_t>(batch.snapshots.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto script = scripts_.find(rows[i].seed);
    DS_CHECK(script != scripts_.end(), "a request without a script");
    sampled[i].token = script->second.at(static_cast<size_t>(rows[i].position));
  }
}

}  // namespace deltaserve
