// What a device must be able to do. Ops are batch-level and launch-only: no allocation and no host
// synchronisation inside a forward. A backend implements every op for the dtypes it accepts or it
// refuses at construction; there is no path that falls through to a slower device.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ops/args.h"
#include "ops/delta_args.h"
#include "ops/limits.h"
#include "ops/moe_args.h"
#include "ops/sampling.h"
#include "ops/vision_args.h"
#include "ops/weights.h"
#include "tensor/tensor_view.h"

namespace deltaserve {

// One row of `doctor`: which kernel serves an op, decided at load.
struct KernelInfo {
  std::string op;
  std::string kernel;
};

// What a step is like, for a device that can record its launches: steps with equal keys launch the
// same kernels with the same arguments, and differ only in what lies in device memory.
struct StepKey {
  int32_t num_seqs = 0;            // all of one token, token by token
  int32_t max_blocks_per_seq = 0;  // row length of the block tables
  auto operator<=>(const StepKey&) const = default;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;
  virtual DType compute_dtype() const = 0;  // X
  virtual std::vector<KernelInfo> kernels() const = 0;

  // Zeroed memory of the device, 64-byte aligned; released by `release`. Exhaustion is an error.
  virtual Result<void*> allocate(size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual size_t free_memory() const = 0;
  // Whether the memory is a device's, which nothing else of the machine needs.
  virtual bool has_own_memory() const { return false; }
  virtual void copy_to_device(void* to, const void* from, size_t bytes) = 0;
  virtual void copy_to_host(void* to, const void* from, size_t bytes) = 0;  // synchronises
  virtual void copy_on_device(void* to, const void* from, size_t bytes) = 0;

  // Repack weights (kF32, kBF16 or kF16). Parts share K and are stacked by rows. Errors: a shape or
  // dtype that no kernel serves.
  virtual Result<std::unique_ptr<LinearWeight>> make_linear(std::span<const TensorView> parts) = 0;
  virtual Result<std::unique_ptr<GateUpWeight>> make_gate_up(const TensorView& gate,
                                                             const TensorView& up) = 0;
  // One view per expert: gate [I, H], up [I, H], down [H, I].
  virtual Result<std::unique_ptr<ExpertsWeight>> make_experts(std::span<const TensorView> gate,
                                                              std::span<const TensorView> up,
                                                              std::span<const TensorView> down) = 0;
  // The view must stay valid.
  virtual Result<std::unique_ptr<EmbeddingWeight>> make_embedding(const TensorView& table) = 0;

  // Errors: head sizes that no kernel here serves. Asked once, before weights are loaded.
  virtual Result<void> check_shape(const CacheShape& shape) const = 0;
  virtual Result<void> check_vision_shape(const VisionShape& shape) const = 0;

  // Bytes of one KV block of one layer and of one state slot of one layer, in the backend's layout.
  virtual int64_t kv_block_bytes(const CacheShape& shape) const = 0;
  virtual int64_t recurrent_state_bytes(const CacheShape& shape) const = 0;

  // Sizes the workspace; called once, before the first op. Errors: no memory for it.
  virtual Result<void> reserve(const StepLimits& limits) = 0;
  // Bytes that reserve() takes for the ops' scratch at these limits, for the memory plan: no op of
  // a step within them takes more.
  virtual int64_t scratch_bytes(const StepLimits& /*limits*/) const { return 0; }

  // Runs `launch`, which calls the ops of a step of this key. A device may record what it launches
  // and repeat the record for later steps of the key instead of calling it.
  virtual void run_step(const StepKey& /*key*/, const std::function<void()>& launch) { launch(); }

  virtual void embed(const EmbedArgs& args) = 0;
  virtual void linear(const LinearArgs& args) = 0;
  // May do out += x Wᵀ where `linear` does out = x Wᵀ, for float32 out. Returns whether it did;
  // else nothing has happened.
  virtual bool add_linear(const LinearArgs& /*args*/) { return false; }
  virtual void gate_up_silu(const GateUpSiluArgs& args) = 0;
  // May do a product that adds to the residual and the norm behind it, up to the scale that it
  // returns for x_scale of the next product. If it returns nothing, nothing has happened.
  virtual std::optional<NormScale> linear_norm(const LinearNormArgs& /*args*/) {
    return std::nullopt;
  }
  virtual void add_rms_norm(const AddRmsNormArgs& args) = 0;
  // May fuse the two ops, `args.x` being `norm.out`, which then stays as it was. Returns whether it
  // did; else nothing has happened.
  virtual bool norm_linear(const AddRmsNormArgs& /*norm*/, const LinearArgs& /*args*/) {
    return false;
  }
  virtual void qk_norm_rope(const QkNormRopeArgs& args) = 0;
  virtual void write_kv(const WriteKvArgs& args) = 0;
  // May fuse the two ops before; the rows of k may then stay as they were. Returns whether it did;
  // else nothing has happened.
  virtual bool qk_norm_rope_write_kv(const QkNormRopeArgs& /*args*/,
                                     const WriteKvArgs& /*writing*/) {
    return false;
  }
  virtual void attention(const AttentionArgs& args) = 0;
  // May fuse the three ops before; the rows of q and k may then stay as they were. Returns whether
  // it did; else nothing has happened.
  virtual bool rope_attention(const QkNormRopeArgs& /*rotation*/, const WriteKvArgs& /*writing*/,
                              const AttentionArgs& /*args*/) {
    return false;
  }
  virtual void causal_conv1d(const CausalConv1dArgs& args) = 0;
  virtual void gated_delta_rule(const GatedDeltaRuleArgs& args) = 0;
  virtual void gated_rms_norm(const GatedRmsNormArgs& args) = 0;
  // May fuse the three ops before. Returns whether it did; else nothing has happened.
  virtual bool delta_decode(const DeltaDecodeArgs& /*args*/) { return false; }
  virtual void moe_topk(const MoeTopkArgs& args) = 0;
  virtual void moe(const MoeArgs& args) = 0;
  // May fuse a block's ops. Returns whether it did; else nothing has happened.
  virtual bool moe_block(const MoeBlockArgs& /*args*/) { return false; }
  // The vision tower.
  virtual void linear_bias(const LinearBiasArgs& args) = 0;
  virtual void add_layer_norm(const AddLayerNormArgs& args) = 0;
  virtual void add_positions(const AddPositionsArgs& args) = 0;
  virtual void vision_rope(const VisionRopeArgs& args) = 0;
  virtual void vision_attention(const VisionAttentionArgs& args) = 0;
  virtual void sample(const SampleArgs& args) = 0;  // results are on the host when it returns

  // Whether ops return before they are done, so that a step can be launched while the one before it
  // runs. Whatever is called later, copies included, comes behind it on the device.
  virtual bool runs_ahead() const { return false; }
  // sample() in two halves. begin_sample launches the draw and reads its rows; args.out is not
  // used. end_sample waits for the draw begun first of those that have not ended, kMaxOpenDraws at
  // most, and fills `out`, as long as its rows. A draw that failed has ended when end_sample
  // throws.
  virtual void begin_sample(const SampleArgs& args) = 0;
  virtual void end_sample(std::span<SampledToken> out) = 0;
  virtual void take_drawn(const TakeDrawnArgs& args) = 0;
};

}  // namespace deltaserve
