// The reference backend: host memory, one thread, ops from reference_ops.h.
#include "ops/reference/reference_backend.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "ops/held_draws.h"
#include "ops/reference/reference_ops.h"
#include "ops/reference/reference_weights.h"

namespace deltaserve {
namespace {

class ReferenceBackend final : public Backend {
 public:
  explicit ReferenceBackend(DType compute_dtype) : x_(compute_dtype) {}

  std::string_view name() const override { return "reference"; }
  DType compute_dtype() const override { return x_; }
  std::vector<KernelInfo> kernels() const override {
    std::vector<KernelInfo> rows;
    for (const char* op : {"embed", "linear", "gate_up_silu", "add_rms_norm", "qk_norm_rope",
                           "write_kv", "attention", "causal_conv1d", "gated_delta_rule",
                           "gated_rms_norm", "moe_topk", "moe", "linear_bias", "add_layer_norm",
                           "add_positions", "vision_rope", "vision_attention", "sample"}) {
      rows.push_back({op, "reference"});
    }
    return rows;
  }

  Result<void*> allocate(size_t bytes) override {
    constexpr size_t kAlignment = 64;  // what Backend::allocate promises
    const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
    if (memory == nullptr) {
      return fail(ErrorCode::kUnavailable,
                  "out of host memory: " + std::to_string(bytes) + " bytes were asked for");
    }
    std::memset(memory, 0, rounded);
    return memory;
  }
  void release(void* memory) override { std::free(memory); }
  size_t free_memory() const override {
    return static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) *
           static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }
  void copy_to_device(void* to, const void* from, size_t bytes) override { copy(to, from, bytes); }
  void copy_to_host(void* to, const void* from, size_t bytes) override { copy(to, from, bytes); }
  void copy_on_device(void* to, const void* from, size_t bytes) override { copy(to, from, bytes); }

  Result<std::unique_ptr<LinearWeight>> make_linear(std::span<const TensorView> parts) override {
    return reference::make_linear(x_, parts);
  }
  Result<std::unique_ptr<GateUpWeight>> make_gate_up(const TensorView& gate,
                                                     const TensorView& up) override {
    return reference::make_gate_up(x_, gate, up);
  }
  Result<std::unique_ptr<ExpertsWeight>> make_experts(std::span<const TensorView> gate,
                                                      std::span<const TensorView> up,
                                                      std::span<const TensorView> down) override {
    return reference::make_experts(x_, gate, up, down);
  }
  Result<std::unique_ptr<EmbeddingWeight>> make_embedding(const TensorView& table) override {
    return reference::make_embedding(x_, table);
  }

  Result<void> check_shape(const CacheShape&) const override { return {}; }
  Result<void> check_vision_shape(const VisionShape&) const override { return {}; }
  int64_t kv_block_bytes(const CacheShape& shape) const override {
    return int64_t{2} * shape.num_kv_heads * kBlockSize * shape.head_dim * dtype_size(x_);
  }
  int64_t recurrent_state_bytes(const CacheShape& shape) const override {
    return int64_t{shape.num_v_heads} * shape.dk * shape.dv * dtype_size(DType::kF32);
  }
  Result<void> reserve(const StepLimits&) override { return {}; }

  void embed(const EmbedArgs& args) override { reference::embed(args); }
  void linear(const LinearArgs& args) override { reference::linear(x_, args); }
  void gate_up_silu(const GateUpSiluArgs& args) override { reference::gate_up_silu(x_, args); }
  void add_rms_norm(const AddRmsNormArgs& args) override { reference::add_rms_norm(x_, args); }
  void qk_norm_rope(const QkNormRopeArgs& args) override { reference::qk_norm_rope(x_, args); }
  void write_kv(const WriteKvArgs& args) override { reference::write_kv(x_, args); }
  void attention(const AttentionArgs& args) override { reference::attention(x_, args); }
  void causal_conv1d(const CausalConv1dArgs& args) override { reference::causal_conv1d(x_, args); }
  void gated_delta_rule(const GatedDeltaRuleArgs& args) override {
    reference::gated_delta_rule(x_, args);
  }
  void gated_rms_norm(const GatedRmsNormArgs& args) override {
    reference::gated_rms_norm(x_, args);
  }
  void moe_topk(const MoeTopkArgs& args) override { reference::moe_topk(args); }
  void moe(const MoeArgs& args) override { reference::moe(x_, args); }
  void linear_bias(const LinearBiasArgs& args) override { reference::linear_bias(x_, args); }
  void add_layer_norm(const AddLayerNormArgs& args) override {
    reference::add_layer_norm(x_, args);
  }
  void add_positions(const AddPositionsArgs& args) override { reference::add_positions(args); }
  void vision_rope(const VisionRopeArgs& args) override { reference::vision_rope(x_, args); }
  void vision_attention(const VisionAttentionArgs& args) override {
    reference::vision_attention(x_, args);
  }
  void sample(const SampleArgs& args) override { reference::sample(args); }
  void begin_sample(const SampleArgs& args) override {
    draws_.begin(args, [this](const SampleArgs& held) { sample(held); });
  }
  void end_sample(std::span<SampledToken> out) override { draws_.end(out); }
  void take_drawn(const TakeDrawnArgs& args) override { draws_.take(args); }

 private:
  static void copy(void* to, const void* from, size_t bytes) {
    if (bytes != 0) {
      std::memcpy(to, from, bytes);
    }
  }

  DType x_;
  HeldDraws draws_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(DType compute_dtype) {
  DS_CHECK(compute_dtype == DType::kF32 || compute_dtype == DType::kBF16);
  return std::make_unique<ReferenceBackend>(compute_dtype);
}

}  // namespace deltaserve
