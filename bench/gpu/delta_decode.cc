// A decode step of a delta layer between its projections: convolution, rule and gated norm as three
// kernels and as delta_decode; alone, and between the products that a layer has around them. States
// come from memory: there are more of them than the cache holds.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/check.h"
#include "few_rows.h"
#include "graph_timer.h"

namespace deltaserve::bench {
namespace {

constexpr int64_t kDim = 128;  // dk and dv

struct DeltaShape {
  const char* name;
  int64_t Hk;
  int64_t Hv;
  int64_t hidden;

  int64_t channels() const { return (2 * Hk + Hv) * kDim; }
  int64_t values() const { return Hv * kDim; }
  int64_t stride() const { return (channels() + values() + 2 * Hv + 31) / 32 * 32; }
  int64_t state_bytes() const { return values() * kDim * int64_t{sizeof(float)}; }
  // Of a sequence: state and history, read and written.
  int64_t bytes() const { return 2 * (state_bytes() + 3 * channels() * int64_t{sizeof(float)}); }
};

const DeltaShape kModels[] = {{"27B", 16, 48, 5120}, {"35B", 16, 32, 2048}};

struct LayerState {
  CudaMemory conv_weight;  // [C, 4]
  CudaMemory history;      // [B, 3, C]
  CudaMemory state;        // [B][Hv][dv][dk]
};

CudaMemory floats(int64_t count, uint64_t seed, float scale) {
  return to_device(DType::kF32, random_values(static_cast<size_t>(count), seed, scale));
}

// B sequences of one token each, and some layers.
class DecodeCase {
 public:
  DecodeCase(const DeltaShape& shape, int64_t B, int layers)
      : shape_(shape),
        B_(B),
        projected_(Pattern(kX, 60, 1.0F).make(B * shape.stride())),
        convolved_(static_cast<size_t>(B * shape.channels() * 2)),
        core_(static_cast<size_t>(B * shape.values() * 2)),
        out_(static_cast<size_t>(B * shape.values() * 2)),
        A_log_(floats(shape.Hv, 61, 1.0F)),
        dt_bias_(floats(shape.Hv, 62, 1.0F)),
        norm_weight_(floats(kDim, 63, 1.0F)) {
    std::vector<int32_t> rows(static_cast<size_t>(B) + 1);
    std::iota(rows.begin(), rows.end(), 0);
    cu_seqlens_ = to_device(rows);
    context_lens_ = to_device(std::vector<int32_t>(static_cast<size_t>(B), 1000));
    recurrent_ = to_device(std::vector<int32_t>(static_cast<size_t>(B), 0x01010101));
    view_ = {.num_tokens = static_cast<int32_t>(B),
             .num_seqs = static_cast<int32_t>(B),
             .max_query_len = 1,
             .cu_seqlens = static_cast<const int32_t*>(cu_seqlens_.data()),
             .context_lens = static_cast<const int32_t*>(context_lens_.data()),
             .state_slots = static_cast<const int32_t*>(cu_seqlens_.data()),
             .recurrent = static_cast<const uint8_t*>(recurrent_.data()),
             .num_chunked = 0};
    for (int i = 0; i < layers; ++i) {
      const Pattern pattern(DType::kF32, static_cast<uint64_t>(70 + i), 0.1F);
      layers_.push_back({.conv_weight = pattern.make(4 * shape.channels()),
                         .history = pattern.make(B * 3 * shape.channels()),
                         .state = pattern.make(B * shape.values() * kDim)});
    }
  }

  size_t num_layers() const { return layers_.size(); }
  const CudaMemory& projected() const { return projected_; }
  const CudaMemory& out() const { return out_; }

  DeltaDecodeArgs args(size_t layer) const {
    const LayerState& memory = layers_[layer];
    const auto at = [&](int64_t column) {
      return static_cast<char*>(projected_.data()) + column * 2;
    };
    const int64_t C = shape_.channels();
    const int64_t values = shape_.values();
    return {.conv = {.batch = &view_,
                     .C = C,
                     .x = projected_.data(),
                     .x_stride = shape_.stride(),
                     .weight = static_cast<const float*>(memory.conv_weight.data()),
                     .conv_state = static_cast<float*>(memory.history.data()),
                     .out = convolved_.data(),
                     .out_stride = C},
            .rule = {.batch = &view_,
                     .num_k_heads = static_cast<int32_t>(shape_.Hk),
                     .num_v_heads = static_cast<int32_t>(shape_.Hv),
                     .dk = kDim,
                     .dv = kDim,
                     .qkv = convolved_.data(),
                     .qkv_stride = C,
                     .b = at(C + values),
                     .a = at(C + values + shape_.Hv),
                     .ba_stride = shape_.stride(),
                     .A_log = static_cast<const float*>(A_log_.data()),
                     .dt_bias = static_cast<const float*>(dt_bias_.data()),
                     .state = static_cast<float*>(memory.state.data()),
                     .out = core_.data(),
                     .out_stride = values},
            .norm = {.T = B_,
                     .num_heads = static_cast<int32_t>(shape_.Hv),
                     .head_dim = kDim,
                     .x = core_.data(),
                     .x_stride = values,
                     .z = at(C),
                     .z_stride = shape_.stride(),
                     .weight = static_cast<const float*>(norm_weight_.data()),
                     .out = out_.data(),
                     .out_stride = values}};
  }

  std::vector<float> output() const {
    return to_host(kX, out_.data(), static_cast<size_t>(B_ * shape_.values()));
  }
  std::vector<float> state(size_t layer) const {
    return to_host(DType::kF32, layers_[layer].state.data(),
                   static_cast<size_t>(B_ * shape_.values() * kDim));
  }
  std::vector<float> history(size_t layer) const {
    return to_host(DType::kF32, layers_[layer].history.data(),
                   static_cast<size_t>(B_ * 3 * shape_.channels()));
  }

 private:
  DeltaShape shape_;
  int64_t B_;
  CudaMemory projected_, convolved_, core_, out_;
  CudaMemory A_log_, dt_bias_, norm_weight_;
  CudaMemory cu_seqlens_, context_lens_, recurrent_;
  BatchView view_;
  std::vector<LayerState> layers_;
};

void run_ops(CudaContext& context, const DeltaDecodeArgs& args) {
  launch_causal_conv1d(context, args.conv);
  launch_gated_delta_rule(context, args.rule);
  launch_gated_rms_norm(context, args.norm);
}

struct DecodeForm {
  const char* name;
  std::function<void(CudaContext&, const DeltaDecodeArgs&)> run;
};

void run_fused(CudaContext& context, const DeltaDecodeArgs& args) {
  DS_CHECK(launch_delta_decode(context, args));
}

const DecodeForm kDecodeForms[] = {{"three kernels", run_ops}, {"fused", run_fused}};

// Enough layers that their states do not stay in the cache.
int layers_for(const DeltaShape& shape, int64_t B) {
  constexpr int64_t kBytes = 300 << 20;
  return static_cast<int>(std::max<int64_t>(2, kBytes / (B * shape.state_bytes())));
}

void time_alone(CudaContext& context, const DeltaShape& shape, int64_t B) {
  const DecodeCase decode(shape, B, layers_for(shape, B));
  for (const DecodeForm& form : kDecodeForms) {
    const auto work = [&] {
      for (size_t i = 0; i < decode.num_layers(); ++i) {
        form.run(context, decode.args(i));
      }
    };
    work();
    print_time(std::string(shape.name) + " delta layer, " + form.name + ", " + std::to_string(B) +
                   " sequences",
               graph_microseconds(context, work, 15) / static_cast<double>(decode.num_layers()),
               static_cast<double>(B * shape.bytes()) / kCopyBytes * 1e6);
  }
}

void time_between_products(CudaContext& context, const DeltaShape& shape, int64_t B) {
  constexpr int kLayers = 12;
  const DecodeCase decode(shape, B, kLayers);
  const Pattern pattern(kX, 14, 0.02F);
  std::vector<CudaLinear> in;
  std::vector<CudaLinear> out;
  for (int i = 0; i < kLayers; ++i) {
    in.push_back(make_linear(pattern, shape.stride(), shape.hidden));
    out.push_back(make_linear(pattern, shape.hidden, shape.values()));
  }
  const CudaMemory x = pattern.make(B * shape.hidden);
  const CudaMemory delta(static_cast<size_t>(B * shape.hidden) * sizeof(float));
  for (const DecodeForm& form : kDecodeForms) {
    const auto work = [&] {
      for (size_t i = 0; i < kLayers; ++i) {
        launch_linear(context, {.M = B,
                                .x = x.data(),
                                .x_stride = shape.hidden,
                                .weight = &in[i],
                                .out = decode.projected().data(),
                                .out_stride = shape.stride()});
        form.run(context, decode.args(i));
        launch_linear(context, {.M = B,
                                .x = decode.out().data(),
                                .x_stride = shape.values(),
                                .weight = &out[i],
                                .out = delta.data(),
                                .out_stride = shape.hidden,
                                .out_float = true});
      }
    };
    work();
    const double weights =
        2.0 * static_cast<double>(shape.hidden * (shape.stride() + shape.values()));
    print_time(std::string(shape.name) + " delta layer with its products, " + form.name + ", " +
                   std::to_string(B) + " sequences",
               graph_microseconds(context, work, 15) / kLayers,
               (static_cast<double>(B * shape.bytes()) + weights) / kCopyBytes * 1e6);
  }
}

}  // namespace

void check_delta_decode(CudaContext& context) {
  for (const DeltaShape& shape : kModels) {
    for (const int64_t B : {1, 3, 20, 40}) {
      for (size_t i = 1; i < std::size(kDecodeForms); ++i) {
        const DecodeCase fused(shape, B, 1);
        const DecodeCase expected(shape, B, 1);
        const std::string what = std::string(shape.name) + " delta layer, " + kDecodeForms[i].name +
                                 ", " + std::to_string(B) + " sequences: ";
        for (int step = 0; step < 3; ++step) {
          run_ops(context, expected.args(0));
          kDecodeForms[i].run(context, fused.args(0));
          // A step finds its states written.
          check_cuda(cudaStreamSynchronize(context.stream));
        }
        report_same_bits(what + "output", fused.output(), expected.output());
        report_same_bits(what + "state", fused.state(0), expected.state(0));
        report_same_bits(what + "inputs kept", fused.history(0), expected.history(0));
      }
    }
  }
}

void time_delta_decode(CudaContext& context) {
  for (const DeltaShape& shape : kModels) {
    for (const int64_t B : {1, 2, 4, 8, 16, 32, 256}) {
      time_alone(context, shape, B);
    }
    for (const int64_t B : {1, 8, 16, 32}) {
      time_between_products(context, shape, B);
    }
  }
}

}  // namespace deltaserve::bench
