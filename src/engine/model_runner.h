// Runs one step on a device: the forward pass, then a draw from each row of logits. An interface,
// so that scheduler and engine are tested without a model.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "cache/host_store.h"
#include "engine/vision_encoder.h"
#include "model/batch.h"
#include "model/model.h"
#include "ops/sampling.h"

namespace deltaserve {

class ModelRunner {
 public:
  virtual ~ModelRunner() = default;

  // `rows` and `sampled` are as long as batch.logits_rows. Throws if the device fails; the KV
  // slots, state slots and blocks that the batch writes are then undefined, all others untouched.
  // Throws DeviceLost if no later run can succeed.
  virtual void run(const Batch& batch, std::span<const SamplingRow> rows,
                   std::span<SampledToken> sampled) = 0;

  // run() in two halves, where the device runs ahead: launch() returns before the step is done, and
  // finish() waits for the step launched first of those that are not finished, kMaxOpenDraws at
  // most. batch.drawn_rows are rows of the step launched last. Later copies of the caches come
  // behind the step. A step whose launch throws is none; one whose finish throws is finished.
  virtual bool runs_ahead() const { return false; }
  virtual void launch(const Batch& batch, std::span<const SamplingRow> rows);
  virtual void finish(std::span<SampledToken> sampled);

  // `wait` returns when what the rows point to is complete. run() and launch() call it behind the
  // forward pass, which it overlaps, and before the draw.
  void on_draw(std::function<void()> wait) { wait_for_rows_ = std::move(wait); }

  // The vision tower; null: there is none.
  virtual VisionEncoder* vision() { return nullptr; }

  // Copies of the caches to host memory and back; null: not possible.
  virtual CacheTransfer* transfer() { return nullptr; }

 protected:
  void wait_for_rows() const {
    if (wait_for_rows_) wait_for_rows_();
  }

 private:
  std::function<void()> wait_for_rows_;
};

// `model` is allocated and must outlive the runner. Tokens are drawn below `sampling_vocab_size`.
std::unique_ptr<ModelRunner> make_model_runner(Model& model, int64_t sampling_vocab_size);

}  // namespace deltaserve
