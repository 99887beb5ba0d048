// The list of a model's tensors, and a generator that is fast enough for billions of values.
#include "model/random_tensor.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "model/vision_tensors.h"

namespace deltaserve {

namespace {

// Norm weights are near their neutral value (0 for zero-centred ones), not on it: a kernel that
// forgets them must show.
constexpr float kNormDeviation = 0.1F;

class Layout {
 public:
  explicit Layout(const ModelConfig& config)
      : config_(config),
        residual_scale_(1.0F / std::sqrt(2.0F * static_cast<float>(config.num_hidden_layers))) {}

  std::vector<RandomTensor> build() {
    const int64_t V = config_.vocab_size;
    const int64_t H = config_.hidden_size;
    matrix(config_.weight_prefix + "embed_tokens.weight", {V, H});
    for (int32_t i = 0; i < config_.num_hidden_layers; ++i) {
      layer(i);
    }
    norm(config_.weight_prefix + "norm.weight", H);
    if (!config_.tie_word_embeddings) {
      matrix("lm_head.weight", {V, H});
    }
    if (config_.vision) {
      vision(*config_.vision);
    }
    return std::move(tensors_);
  }

 private:
  void add(std::string name, std::vector<int64_t> shape, DType dtype, RandomKind kind, float mean,
           float deviation) {
    tensors_.push_back({std::move(name), std::move(shape), dtype, kind, mean, deviation});
  }
  // Deviation 1/sqrt(K), K the last dimension.
  void matrix(const std::string& name, std::vector<int64_t> shape, float scale = 1.0F) {
    const float deviation = scale / std::sqrt(static_cast<float>(shape.back()));
    add(name, std::move(shape), DType::kBF16, RandomKind::kNormal, 0.0F, deviation);
  }
  void norm(const std::string& name, int64_t width) {
    add(name, {width}, DType::kBF16, RandomKind::kNormal, 0.0F, kNormDeviation);
  }

  void layer(int32_t index) {
    const std::string prefix = config_.weight_prefix + "layers." + std::to_string(index) + ".";
    norm(prefix + "input_layernorm.weight", config_.hidden_size);
    norm(prefix + "post_attention_layernorm.weight", config_.hidden_size);
    if (config_.layer_types[static_cast<size_t>(index)] == LayerType::kLinearAttention) {
      linear_attention(prefix + "linear_attn.");
    } else {
      full_attention(prefix + "self_attn.");
    }
    if (config_.moe) {
      experts(*config_.moe, prefix + "mlp.");
    } else {
      mlp(config_.intermediate_size, prefix + "mlp.");
    }
  }

  void linear_attention(const std::string& prefix) {
    const int64_t H = config_.hidden_size;
    const int64_t Hv = config_.linear_num_value_heads;
    const int64_t values = Hv * config_.linear_value_head_dim;
    const int64_t channels = config_.conv_channels();
    if (config_.fused_qkvz) {
      matrix(prefix + "in_proj_qkvz.weight", {channels + values, H});
      matrix(prefix + "in_proj_ba.weight", {2 * Hv, H});
    } else {
      matrix(prefix + "in_proj_qkv.weight", {channels, H});
      matrix(prefix + "in_proj_z.weight", {values, H});
      matrix(prefix + "in_proj_b.weight", {Hv, H});
      matrix(prefix + "in_proj_a.weight", {Hv, H});
    }
    matrix(prefix + "conv1d.weight", {channels, 1, 4});
    add(prefix + "A_log", {Hv}, DType::kF32, RandomKind::kALog, 0.0F, 0.0F);
    add(prefix + "dt_bias", {Hv}, DType::kBF16, RandomKind::kDtBias, 0.0F, 0.0F);
    add(prefix + "norm.weight", {config_.linear_value_head_dim}, DType::kF32, RandomKind::kNormal,
        1.0F, kNormDeviation);
    matrix(prefix + "out_proj.weight", {H, values}, residual_scale_);
  }

  void full_attention(const std::string& prefix) {
    const int64_t H = config_.hidden_size;
    const int64_t q_rows = int64_t{config_.num_attention_heads} * config_.head_dim;
    const int64_t kv_rows = int64_t{config_.num_key_value_heads} * config_.head_dim;
    matrix(prefix + "q_proj.weight", {2 * q_rows, H});
    matrix(prefix + "k_proj.weight", {kv_rows, H});
    matrix(prefix + "v_proj.weight", {kv_rows, H});
    matrix(prefix + "o_proj.weight", {H, q_rows}, residual_scale_);
    norm(prefix + "q_norm.weight", config_.head_dim);
    norm(prefix + "k_norm.weight", config_.head_dim);
  }

  void mlp(int64_t inner, const std::string& prefix) {
    const int64_t H = config_.hidden_size;
    matrix(prefix + "gate_proj.weight", {inner, H});
    matrix(prefix + "up_proj.weight", {inner, H});
    matrix(prefix + "down_proj.weight", {H, inner}, residual_scale_);
  }

  void experts(const MoeConfig& moe, const std::string& prefix) {
    const int64_t H = config_.hidden_size;
    const int64_t E = moe.num_experts;
    const int64_t I = moe.moe_intermediate_size;
    matrix(prefix + "gate.weight", {E, H});
    if (config_.fused_qkvz) {
      for (int64_t e = 0; e < E; ++e) {
        mlp(I, prefix + "experts." + std::to_string(e) + ".");
      }
    } else {
      matrix(prefix + "experts.gate_up_proj", {E, 2 * I, H});
      matrix(prefix + "experts.down_proj", {E, H, I}, residual_scale_);
    }
    mlp(moe.shared_expert_intermediate_size, prefix + "shared_expert.");
    matrix(prefix + "shared_expert_gate.weight", {1, H});
  }

  void vision(const VisionConfig& config) {
    for (const NamedShape& tensor : vision_tensor_shapes(config)) {
      const bool is_norm_weight = tensor.shape.size() == 1 && tensor.name.ends_with(".weight");
      const int64_t fan_in = std::accumulate(tensor.shape.begin() + 1, tensor.shape.end(),
                                             int64_t{1}, std::multiplies<>{});
      const float deviation =
          tensor.shape.size() == 1 ? kNormDeviation : 1.0F / std::sqrt(static_cast<float>(fan_in));
      add(tensor.name, tensor.shape, DType::kBF16, RandomKind::kNormal,
          is_norm_weight ? 1.0F : 0.0F, deviation);
    }
  }

  const ModelConfig& config_;
  float residual_scale_;
  std::vector<RandomTensor> tensors_;
};

// SplitMix64 (Steele, Lea, Flood 2014): a counter and a mixing function.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    return mix(state_);
  }
  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }
  // In (0, 1).
  float uniform() { return (static_cast<float>(next() >> 40) + 0.5F) * 0x1p-24F; }
  // Mean 0, variance 1, within 3.5: the sum of four 16-bit uniforms.
  float normal() {
    const uint64_t bits = next();
    const auto sum = static_cast<int32_t>((bits & 0xffffU) + ((bits >> 16) & 0xffffU) +
                                          ((bits >> 32) & 0xffffU) + (bits >> 48));
    constexpr int32_t kMean = 4 * 65535 / 2;
    constexpr float kInverseDeviation = 1.0F / 37837.23F;  // sqrt(4 (65536^2 - 1) / 12)
    return static_cast<float>(sum - kMean) * kInverseDeviation;
  }

 private:
  uint64_t state_;
};

// FNV-1a: the same on every machine, unlike std::hash.
uint64_t hash_name(const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return hash;
}

template <typename Draw>
void fill(DType dtype, std::span<std::byte> out, Draw draw) {
  if (dtype == DType::kF32) {
    for (size_t i = 0; i + sizeof(float) <= out.size(); i += sizeof(float)) {
      const float value = draw();
      std::memcpy(out.data() + i, &value, sizeof(value));
    }
    return;
  }
  DS_CHECK(dtype == DType::kBF16);
  for (size_t i = 0; i + sizeof(BFloat16) <= out.size(); i += sizeof(BFloat16)) {
    const BFloat16 value = to_bfloat16(draw());
    std::memcpy(out.data() + i, &value, sizeof(value));
  }
}

}  // namespace

int64_t RandomTensor::num_elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>{});
}

std::vector<RandomTensor> random_tensors(const ModelConfig& config) {
  return Layout(config).build();
}

void fill_random(const RandomTensor& tensor, uint64_t seed, int64_t index,
                 std::span<std::byte> out) {
  Generator generator(Generator::mix(seed ^ Generator::mix(hash_name(tensor.name))) +
                      Generator::mix(static_cast<uint64_t>(index)));
  switch (tensor.kind) {
    case RandomKind::kNormal:
      fill(tensor.dtype, out, [&] { return tensor.mean + tensor.deviation * generator.normal(); });
      return;
    case RandomKind::kALog:
      fill(tensor.dtype, out, [&] { return std::log(1.0F + 15.0F * generator.uniform()); });
      return;
    case RandomKind::kDtBias:
      fill(tensor.dtype, out, [&] {
        const float step = 0.001F * std::pow(100.0F, generator.uniform());
        return step + std::log(-std::expm1(-step));
      });
      return;
  }
}

}  // namespace deltaserve
