#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "backends/cpu/cpu_context.h"
#include "backends/cpu/cpu_info.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/matrix_ops.h"
#include "backends/cpu/numa_memory.h"
#include "backends/cpu/row_ops.h"
#include "backends/cpu/thread_binding.h"
#include "backends/cpu/thread_placement.h"
#include "backends/cpu/threads.h"
#include "backends/cpu/vision_ops.h"
#include "base/check.h"
#include "ops/held_draws.h"

namespace deltaserve {
namespace {

class CpuBackend final : public Backend {
 public:
  CpuBackend(DType compute_dtype, CpuIsa isa, const ThreadPlacement& placement)
      : context_(compute_dtype, isa, placement.threads, placement),
        binding_(placement),
        name_(fmt::format(
            "cpu ({}, {} threads{})", cpu_isa_name(isa), placement.threads,
            placement.active() ? fmt::format(" on {} memory nodes", placement.num_parts()) : "")) {}

  std::string_view name() const override { return name_; }
  DType compute_dtype() const override { return context_.compute_dtype; }
  std::vector<KernelInfo> kernels() const override;

  Result<void*> allocate(size_t bytes) override;
  void release(void* memory) override { buffers_.erase(memory); }
  size_t free_memory() const override { return available_memory(); }
  void copy_to_device(void* to, const void* from, size_t bytes) override { copy(to, from, bytes); }
  void copy_to_host(void* to, const void* from, size_t bytes) override { copy(to, from, bytes); }
  // Recurrent states are worth waking the team: one thread reaches a part of the bandwidth, and 64
  // KiB take it 5 us or more, a region one or two.
  void copy_on_device(void* to, const void* from, size_t bytes) override {
    constexpr size_t kPiece = size_t{64} << 10;
    constexpr size_t kManyPieces = 2;
    if (bytes < kManyPieces * kPiece) {
      copy(to, from, bytes);
      return;
    }
    const auto pieces = static_cast<int64_t>((bytes + kPiece - 1) / kPiece);
    parallel_for(context_.threads, pieces, 1, [&](int64_t begin, int64_t end, int32_t) {
      const size_t first = static_cast<size_t>(begin) * kPiece;
      const size_t last = std::min(bytes, static_cast<size_t>(end) * kPiece);
      copy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
           last - first);
    });
  }

  Result<std::unique_ptr<LinearWeight>> make_linear(std::span<const TensorView> parts) override {
    return make_cpu_linear(context_, parts);
  }
  Result<std::unique_ptr<GateUpWeight>> make_gate_up(const TensorView& gate,
                                                     const TensorView& up) override {
    return make_cpu_gate_up(context_, gate, up);
  }
  Result<std::unique_ptr<ExpertsWeight>> make_experts(std::span<const TensorView> gate,
                                                      std::span<const TensorView> up,
                                                      std::span<const TensorView> down) override {
    return make_cpu_experts(context_, gate, up, down);
  }
  Result<std::unique_ptr<EmbeddingWeight>> make_embedding(const TensorView& table) override {
    return make_cpu_embedding(table);
  }

  Result<void> check_shape(const CacheShape& shape) const override {
    return check_cpu_attention_shape(shape);
  }
  Result<void> check_vision_shape(const VisionShape& shape) const override {
    return check_cpu_vision_shape(shape);
  }
  int64_t kv_block_bytes(const CacheShape& shape) const override {
    return cpu_kv_block_bytes(context_.compute_dtype, shape);
  }
  int64_t recurrent_state_bytes(const CacheShape& shape) const override {
    return cpu_recurrent_state_bytes(shape);
  }
  Result<void> reserve(const StepLimits& limits) override {
    context_.limits = limits;
    binding_.bind_callers();  // the weights are loaded
    try {
      context_.require_shared_scratch(static_cast<size_t>(scratch_bytes(limits)));
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::kUnavailable, "not enough memory for the largest picture's attention");
    }
    return {};
  }
  int64_t scratch_bytes(const StepLimits& limits) const override {
    return cpu_vision_scratch_bytes(compute_dtype(), limits);
  }

  void embed(const EmbedArgs& args) override { cpu_embed(context_, args); }
  void linear(const LinearArgs& args) override { cpu_linear(context_, args); }
  void gate_up_silu(const GateUpSiluArgs& args) override { cpu_gate_up_silu(context_, args); }
  void add_rms_norm(const AddRmsNormArgs& args) override { cpu_add_rms_norm(context_, args); }
  void qk_norm_rope(const QkNormRopeArgs& args) override { cpu_qk_norm_rope(context_, args); }
  void write_kv(const WriteKvArgs& args) override { cpu_write_kv(context_, args); }
  void attention(const AttentionArgs& args) override { cpu_attention(context_, args); }
  void causal_conv1d(const CausalConv1dArgs& args) override { cpu_causal_conv1d(context_, args); }
  void gated_delta_rule(const GatedDeltaRuleArgs& args) override {
    cpu_gated_delta_rule(context_, args);
  }
  void gated_rms_norm(const GatedRmsNormArgs& args) override { cpu_gated_rms_norm(context_, args); }
  void moe_topk(const MoeTopkArgs& args) override { cpu_moe_topk(context_, args); }
  void moe(const MoeArgs& args) override { cpu_moe(context_, args); }
  void linear_bias(const LinearBiasArgs& args) override { cpu_linear_bias(context_, args); }
  void add_layer_norm(const AddLayerNormArgs& args) override { cpu_add_layer_norm(context_, args); }
  void add_positions(const AddPositionsArgs& args) override { cpu_add_positions(context_, args); }
  void vision_rope(const VisionRopeArgs& args) override { cpu_vision_rope(context_, args); }
  void vision_attention(const VisionAttentionArgs& args) override {
    cpu_vision_attention(context_, args);
  }
  void sample(const SampleArgs& args) override { cpu_sample(context_, args); }
  void begin_sample(const SampleArgs& args) override {
    draws_.begin(args, [this](const SampleArgs& held) { sample(held); });
  }
  void end_sample(std::span<SampledToken> out) override { draws_.end(out); }
  void take_drawn(const TakeDrawnArgs& args) override { draws_.take(args); }

 private:
  // Nothing may be copied from nowhere: an empty vector has no address.
  static void copy(void* to, const void* from, size_t bytes) {
    if (bytes != 0) {
      std::memmove(to, from, bytes);
    }
  }

  CpuContext context_;
  ThreadBinding binding_;
  HeldDraws draws_;
  std::string name_;
  std::unordered_map<void*, HugeBuffer> buffers_;
};

std::vector<KernelInfo> CpuBackend::kernels() const {
  const CpuKernels& table = *context_.kernels;
  const bool bf16 = context_.compute_dtype == DType::kBF16;
  const std::string x(bf16 ? "bf16" : "f32");
  const std::string matrix =
      bf16 ? table.bf16.name : fmt::format("{}; {}", table.f32_bf16.name, table.f32.name);
  const bool on_tiles = bf16 && table.attention_scores != nullptr;
  const std::string rows = fmt::format("rows of {}, float32 inside", x);
  return {
      {"embed", fmt::format("mapped table to {}", x)},
      {"linear", matrix},
      {"gate_up_silu", matrix + ", silu * up on the tile"},
      {"moe", matrix + ", tokens grouped by expert"},
      {"quantised weights", fmt::format("{}; {}", table.int8.name, table.int4.name)},
      {"gated_delta_rule", fmt::format("{} {}, chunks of {}; recurrent f32", table.name,
                                       on_tiles ? "split bf16" : "f32", kChunkSize)},
      {"attention", fmt::format("paged {}{}, float32 softmax", x, on_tiles ? " on tiles" : "")},
      {"causal_conv1d", rows},
      {"add_rms_norm", rows},
      {"qk_norm_rope", rows},
      {"gated_rms_norm", rows},
      {"write_kv", rows},
      {"moe_topk", "float32 softmax"},
      {"linear_bias", matrix + ", bias and gelu on the tile"},
      {"vision_attention", fmt::format("{} panels, float32 softmax", x)},
      {"vision_rope", rows},
      {"add_layer_norm", rows},
      {"add_positions", "rows of float32"},
      {"sample", "float32"},
  };
}

Result<void*> CpuBackend::allocate(size_t bytes) {
  Result<HugeBuffer> buffer = HugeBuffer::allocate(bytes);
  if (!buffer) {
    return std::unexpected(buffer.error());
  }
  void* memory = buffer->data();
  // Caches and states are read by whoever is free.
  if (context_.placement.active()) {
    interleave_nodes(buffer->data(), bytes, context_.placement);
  }
  if (memory != nullptr) {
    buffers_.emplace(memory, std::move(*buffer));
  }
  return memory;
}

}  // namespace

Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuOptions& options) {
  if (options.compute_dtype != DType::kF32 && options.compute_dtype != DType::kBF16) {
    return invalid(fmt::format("the CPU backend computes in float32 or bfloat16, not in {}",
                               dtype_name(options.compute_dtype)));
  }
  if (options.threads < 0) {
    return invalid("the number of threads must not be negative");
  }
  const CpuIsa isa = options.isa.value_or(detect_cpu_isa());
  if (!cpu_supports(isa)) {
    return invalid(fmt::format("this machine has no {}; its best instruction set is {}",
                               cpu_isa_name(isa), cpu_isa_name(detect_cpu_isa())));
  }
  const Result<ThreadPlacement> placement = cpu_placement(options);
  if (!placement) {
    return std::unexpected(placement.error());
  }
  try {
    return std::make_unique<CpuBackend>(options.compute_dtype, isa, *placement);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kUnavailable, "not enough memory for the scratch of the CPU backend");
  }
}

}  // namespace deltaserve
