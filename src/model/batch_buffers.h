// A step's integers on the device: one staging area, one copy, and the view that ops take.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "model/batch.h"
#include "model/device_buffer.h"
#include "ops/backend.h"

namespace deltaserve {

class BatchBuffers {
 public:
  static int64_t bytes(const StepLimits& limits);
  static Result<BatchBuffers> allocate(Backend& backend, const StepLimits& limits);

  // Checks the batch against the limits and its own shapes (DS_CHECK) and copies it.
  void upload(Backend& backend, const Batch& batch);

  const BatchView& view() const { return view_; }
  const int32_t* input_ids() const { return input_ids_; }

 private:
  StepLimits limits_;
  DeviceBuffer device_;
  std::vector<int32_t> staging_;
  BatchView view_;
  const int32_t* input_ids_ = nullptr;
};

// Invariants of a batch that need no limits: lengths agree, rows are in order. Throws.
void check_batch(const Batch& batch);

}  // namespace deltaserve
