// The class: memory and weights in its own hands, every op one call of its launch function.
#include <fmt/format.h>

#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/delta_rule_layout.h"
#include "backends/cuda/kernel_table.h"
#include "backends/cuda/make_backend.h"
#include "backends/cuda/memory_ops.h"
#include "backends/cuda/sample.h"
#include "backends/cuda/scratch_plan.h"
#include "backends/cuda/step_graphs.h"
#include "backends/cuda/vision_ops.h"
#include "backends/cuda/weight_upload.h"

namespace deltaserve {
namespace {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const CudaOptions& options)
      : context_(options.compute_dtype, options.device, options.batch_invariant,
                 options.fp16_delta_rule),
        ring_(context_.stream),
        uploader_(context_, ring_),
        sampler_(context_, ring_),
        graphs_(context_),
        name_(fmt::format("cuda ({})", context_.device.name)) {}
  ~CudaBackend() override { cudaStreamSynchronize(context_.stream); }

  std::string_view name() const override { return name_; }
  DType compute_dtype() const override { return context_.compute_dtype; }
  std::vector<KernelInfo> kernels() const override { return cuda_kernel_table(context_); }

  Result<void*> allocate(size_t bytes) override;
  void release(void* memory) override;
  size_t free_memory() const override;
  bool has_own_memory() const override { return true; }
  void copy_to_device(void* to, const void* from, size_t bytes) override {
    ring_.to_device(to, from, bytes);
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    ring_.to_host(to, from, bytes);
  }
  void copy_on_device(void* to, const void* from, size_t bytes) override {
    launch_copy(context_, to, from, bytes);
  }

  Result<std::unique_ptr<LinearWeight>> make_linear(std::span<const TensorView> parts) override {
    return uploader_.linear(parts);
  }
  Result<std::unique_ptr<GateUpWeight>> make_gate_up(const TensorView& gate,
                                                     const TensorView& up) override {
    return uploader_.gate_up(gate, up);
  }
  Result<std::unique_ptr<ExpertsWeight>> make_experts(std::span<const TensorView> gate,
                                                      std::span<const TensorView> up,
                                                      std::span<const TensorView> down) override {
    return uploader_.experts(gate, up, down);
  }
  Result<std::unique_ptr<EmbeddingWeight>> make_embedding(const TensorView& table) override {
    return uploader_.embedding(table);
  }

  Result<void> check_shape(const CacheShape& shape) const override {
    return check_cuda_shape(context_, shape);
  }
  Result<void> check_vision_shape(const VisionShape& shape) const override {
    return check_cuda_vision_shape(shape);
  }
  int64_t kv_block_bytes(const CacheShape& shape) const override {
    return int64_t{2} * shape.num_kv_heads * kBlockSize * shape.head_dim *
           dtype_size(context_.compute_dtype);
  }
  int64_t recurrent_state_bytes(const CacheShape& shape) const override {
    return int64_t{shape.num_v_heads} * shape.dk * shape.dv * dtype_size(DType::kF32);
  }
  bool has_fp16_rule() const { return has_fp16_delta_rule(context_); }
  Result<void> reserve(const StepLimits& limits) override;
  int64_t scratch_bytes(const StepLimits& limits) const override {
    const int64_t graphs = limits.model.hidden_size > 0 ? kStepGraphBytes : 0;
    return graphs + scratch_plan_bytes(plan_scratch(context_, limits));
  }

  void run_step(const StepKey& key, const std::function<void()>& launch) override {
    graphs_.run(key, launch);
  }

  void embed(const EmbedArgs& args) override { launch_embed(context_, args); }
  void linear(const LinearArgs& args) override { launch_linear(context_, args); }
  bool add_linear(const LinearArgs& args) override { return launch_add_linear(context_, args); }
  std::optional<NormScale> linear_norm(const LinearNormArgs& args) override {
    return launch_linear_norm(context_, args);
  }
  void gate_up_silu(const GateUpSiluArgs& args) override { launch_gate_up_silu(context_, args); }
  void add_rms_norm(const AddRmsNormArgs& args) override { launch_add_rms_norm(context_, args); }
  bool norm_linear(const AddRmsNormArgs& norm, const LinearArgs& args) override {
    return launch_norm_linear(context_, norm, args);
  }
  void qk_norm_rope(const QkNormRopeArgs& args) override { launch_qk_norm_rope(context_, args); }
  void write_kv(const WriteKvArgs& args) override { launch_write_kv(context_, args); }
  bool qk_norm_rope_write_kv(const QkNormRopeArgs& args, const WriteKvArgs& writing) override {
    launch_qk_norm_rope_write_kv(context_, args, writing);
    return true;
  }
  bool rope_attention(const QkNormRopeArgs& rotation, const WriteKvArgs& writing,
                      const AttentionArgs& args) override {
    return launch_rope_attention(context_, rotation, writing, args);
  }
  void attention(const AttentionArgs& args) override { launch_attention(context_, args); }
  void causal_conv1d(const CausalConv1dArgs& args) override {
    launch_causal_conv1d(context_, args);
  }
  void gated_delta_rule(const GatedDeltaRuleArgs& args) override {
    launch_gated_delta_rule(context_, args);
  }
  void gated_rms_norm(const GatedRmsNormArgs& args) override {
    launch_gated_rms_norm(context_, args);
  }
  bool delta_decode(const DeltaDecodeArgs& args) override {
    return launch_delta_decode(context_, args);
  }
  void moe_topk(const MoeTopkArgs& args) override { launch_moe_topk(context_, args); }
  void moe(const MoeArgs& args) override { launch_moe(context_, args); }
  bool moe_block(const MoeBlockArgs& args) override { return launch_moe_block(context_, args); }
  void linear_bias(const LinearBiasArgs& args) override { launch_linear_bias(context_, args); }
  void add_layer_norm(const AddLayerNormArgs& args) override {
    launch_add_layer_norm(context_, args);
  }
  void add_positions(const AddPositionsArgs& args) override {
    launch_add_positions(context_, args);
  }
  void vision_rope(const VisionRopeArgs& args) override { launch_vision_rope(context_, args); }
  void vision_attention(const VisionAttentionArgs& args) override {
    launch_vision_attention(context_, args);
  }
  void sample(const SampleArgs& args) override { sampler_.sample(args); }
  bool runs_ahead() const override { return true; }
  void begin_sample(const SampleArgs& args) override { sampler_.begin(args); }
  void end_sample(std::span<SampledToken> out) override { sampler_.end(out); }
  void take_drawn(const TakeDrawnArgs& args) override { sampler_.take_drawn(args); }

 private:
  CudaContext context_;
  PinnedRing ring_;
  WeightUploader uploader_;
  CudaSampler sampler_;
  StepGraphs graphs_;
  std::string name_;
  std::unordered_map<void*, CudaMemory> buffers_;
};

Result<void*> CudaBackend::allocate(size_t bytes) {
  try {
    CudaMemory memory(bytes);
    void* data = memory.data();
    if (data != nullptr) {
      check_cuda(cudaMemsetAsync(data, 0, bytes, context_.stream));
      buffers_.emplace(data, std::move(memory));
    }
    return data;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} has no {} bytes of memory left", context_.device.name, bytes));
  }
}

Result<void> CudaBackend::reserve(const StepLimits& limits) {
  const ScratchPlan plan = plan_scratch(context_, limits);
  context_.limits = limits;
  try {
    context_.scratch(plan.bytes);
    context_.zeros(plan.zeros);
    context_.meeting(plan.meeting);
    if (plan.bytes > 0) context_.end_scratch_growth();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} has no {} bytes of memory left for the kernels' scratch: lower "
                            "max_num_batched_tokens",
                            context_.device.name, scratch_plan_bytes(plan)));
  }
  return {};
}

// Waits: what was launched may still use the memory.
void CudaBackend::release(void* memory) {
  cudaStreamSynchronize(context_.stream);
  buffers_.erase(memory);
}

size_t CudaBackend::free_memory() const {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes));
  return free_bytes;
}

}  // namespace

Result<std::unique_ptr<Backend>> make_cuda_backend(const CudaOptions& options) {
  if (options.compute_dtype != DType::kF32 && options.compute_dtype != DType::kBF16) {
    return invalid(fmt::format("the CUDA backend computes in float32 or bfloat16, not in {}",
                               dtype_name(options.compute_dtype)));
  }
  if (const Result<CudaDevice> device = find_cuda_device(options.device); !device) {
    return std::unexpected(device.error());
  }
  try {
    auto backend = std::make_unique<CudaBackend>(options);
    if (options.fp16_delta_rule && !backend->has_fp16_rule()) {
      return invalid("--gdn-precision fp16 needs --dtype bfloat16 and a device of sm_90a");
    }
    return backend;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kUnavailable, "no device memory is left for the CUDA backend");
  } catch (const std::runtime_error& error) {
    return fail(ErrorCode::kUnavailable, error.what());
  }
}

}  // namespace deltaserve
