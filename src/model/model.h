// A loaded checkpoint on a backend: weights, caches and the forward pass. Knows nothing of
// requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "model/batch.h"
#include "model/config.h"
#include "ops/backend.h"
#include "tensor/checkpoint.h"

namespace deltaserve {

class VisionTower;

// Bytes that the memory plan counts with; per block and per slot over all layers.
struct ModelMemory {
  int64_t weight_bytes = 0;      // held by the backend
  int64_t kv_block_bytes = 0;    // kBlockSize tokens
  int64_t state_slot_bytes = 0;  // conv and recurrent state of one sequence
  bool own_memory = false;       // Backend::has_own_memory()
};

// Loaded bytes so far and in all, for a progress bar.
using ProgressCallback = std::function<void(int64_t done, int64_t total)>;

// Sees hidden states during forward: index 0 the embeddings, then the residual stream after each
// layer, the last one after the final norm; `rows` is [T, H] float32 on the host.
using HiddenCallback = std::function<void(int32_t index, const float* rows, int64_t T, int64_t H)>;

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelConfig& config() const = 0;
  virtual ModelMemory memory() const = 0;
  virtual Backend& backend() = 0;
  virtual VisionTower* vision() const { return nullptr; }  // null: text only

  // Reserves workspace for the limits and the pools: block ids are [0, num_blocks), slots
  // [0, num_state_slots). Called once.
  virtual Result<void> allocate(const StepLimits& limits, int64_t num_blocks,
                                int64_t num_state_slots) = 0;
  // Bytes that allocate() will take for the workspace of these limits.
  virtual int64_t workspace_bytes(const StepLimits& limits) const = 0;

  // Runs one step. Afterwards logits() holds [R, V] float32 in backend memory, row i for
  // batch.logits_rows[i]; valid until the next forward.
  virtual void forward(const Batch& batch, const HiddenCallback& on_hidden = {}) = 0;
  virtual const float* logits() const = 0;
  virtual int64_t logits_stride() const = 0;

  // Copies a sequence's conv and recurrent state, or a KV block, in all layers.
  virtual void copy_state(int32_t from_slot, int32_t to_slot) = 0;
  virtual void copy_block(int32_t from_block, int32_t to_block) = 0;
  // The same to and from host memory of state_slot_bytes, or kv_block_bytes. A model that has sizes
  // only refuses.
  virtual void save_state(int32_t /*slot*/, std::byte* /*to*/) { refuse_copy(); }
  virtual void load_state(const std::byte* /*from*/, int32_t /*slot*/) { refuse_copy(); }
  virtual void save_block(int32_t /*block*/, std::byte* /*to*/) { refuse_copy(); }
  virtual void load_block(const std::byte* /*from*/, int32_t /*block*/) { refuse_copy(); }

 private:
  static void refuse_copy() { DS_CHECK(false, "this model has no caches"); }
};

struct LoadOptions {
  // "int8" or "int4" quantises a checkpoint that is not; "" takes it as it is.
  std::string quantization = {};
};

// Loads every tensor of the text model, and of the vision tower if there is any of it; MTP tensors
// are recognised and left alone; any other tensor, a missing or misshaped one is an error with its
// name. `backend` must outlive the model, the
// checkpoint too (embeddings read the mapped file).
Result<std::unique_ptr<Model>> load_model(const Checkpoint& checkpoint, Backend& backend,
                                          const ProgressCallback& on_progress = {},
                                          const LoadOptions& options = {});

}  // namespace deltaserve
