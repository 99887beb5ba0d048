// A step's integers on the device: one staging area, one copy, and the view that ops take.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "model/batch.h"
#include "model/device_buffer.h"
#include "ops/backend.h"

namespace deltaserve {

// A phase as ops take it: a batch of its own whose rows begin at `first_row` of the step's.
struct PhaseView {
  BatchView view;
  int64_t first_row = 0;
  std::span<const StateCopy> snapshots;  // due after it; valid as long as the batch
};

class BatchBuffers {
 public:
  static int64_t bytes(const StepLimits& limits);
  static Result<BatchBuffers> allocate(Backend& backend, const StepLimits& limits);

  // Checks the batch against the limits and its own shapes (DS_CHECK) and copies it. The batch must
  // live as long as phases() is used.
  void upload(Backend& backend, const Batch& batch);

  // Whether the step is a plain decode: every sequence has one token and wants its logits. Such
  // steps of as many sequences differ in device memory only; so that more of them are alike, the
  // rows of their block tables are as long as a power of two, and snapshots are left to the caller,
  // who makes them when all else is done.
  bool repeats() const { return repeats_; }

  const BatchView& view() const { return view_; }
  // The batch's phases; one that is all of it if it is not cut.
  const std::vector<PhaseView>& phases() const { return phases_; }
  const int32_t* input_ids() const { return input_ids_; }
  // What gives the input ids that batch.drawn_rows stands for; null: nothing has to.
  const TakeDrawnArgs* drawn_ids() const {
    return drawn_ids_.rows == nullptr ? nullptr : &drawn_ids_;
  }

 private:
  void view_phases(const Batch& batch);
  std::span<const int32_t> padded_tables(const Batch& batch);

  StepLimits limits_;
  DeviceBuffer device_;
  std::vector<int32_t> staging_;
  std::vector<int32_t> tables_;  // staging: block tables with longer rows
  BatchView view_;
  bool repeats_ = false;
  std::vector<PhaseView> phases_;
  std::vector<int32_t> phase_seqlens_;  // staging: cu_seqlens of each phase, from 0
  int32_t* input_ids_ = nullptr;
  TakeDrawnArgs drawn_ids_;
};

// Invariants of a batch that need no limits: lengths agree, rows are in order. Throws.
void check_batch(const Batch& batch);

}  // namespace deltaserve
