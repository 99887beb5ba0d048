// A FakeRunner that works later, as a device does: launched steps run in their order on a thread of
// its own, or not before their results are waited for. What the caller changes behind a launch is
// not seen by it; copies of the caches come behind all that was launched.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "fake_runner.h"

namespace deltaserve {

class AsyncRunner : public ModelRunner, private CacheTransfer {
 public:
  // `runner` must outlive this, and belongs to the thread while steps are launched.
  AsyncRunner(FakeRunner& runner, bool on_thread);
  ~AsyncRunner() override;
  AsyncRunner(const AsyncRunner&) = delete;
  AsyncRunner& operator=(const AsyncRunner&) = delete;

  void run(const Batch& batch, std::span<const SamplingRow> rows,
           std::span<SampledToken> sampled) override;
  bool runs_ahead() const override { return true; }
  void launch(const Batch& batch, std::span<const SamplingRow> rows) override;
  void finish(std::span<SampledToken> sampled) override;

  CacheTransfer* transfer() override { return this; }
  VisionEncoder* vision() override { return runner_->vision(); }

  bool fails_to_launch = false;  // the next launch behind one that runs throws, once
  int64_t num_launched = 0;
  int64_t num_finished = 0;

 private:
  // A row with what it points to.
  struct OwnedRow {
    SamplingRow row;
    std::vector<TokenCount> counts;
    std::vector<LogitBias> logit_bias;
    std::vector<int32_t> banned;
    std::vector<uint64_t> allowed;
  };
  struct Step {
    Batch batch;
    std::vector<std::unique_ptr<OwnedRow>> rows;
    std::vector<SampledToken> sampled;
    std::exception_ptr failure;
    bool done = false;
  };

  int64_t block_bytes() const override { return runner_->transfer()->block_bytes(); }
  int64_t state_bytes() const override { return runner_->transfer()->state_bytes(); }
  void save_block(int32_t block, std::byte* to) override;
  void load_block(const std::byte* from, int32_t block) override;
  void save_state(int32_t slot, std::byte* to) override;
  void load_state(const std::byte* from, int32_t slot) override;

  std::unique_ptr<OwnedRow> copy_row(const SamplingRow& row) const;
  void run_step(Step& step);
  void wait_for(Step& step);
  void wait_for_all();
  void work();

  FakeRunner* runner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Step>> steps_;  // launched and not finished
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace deltaserve
