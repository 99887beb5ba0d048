// The products of layers of the 27B model one after the other as a decode step has them, with the
// norms between them but nothing else: what small kernels between large ones cost.
#include <cstdint>
#include <string>
#include <vector>

#include "few_rows.h"
#include "graph_timer.h"

namespace deltaserve::bench {
namespace {

struct DenseLayer {
  CudaLinear in;
  CudaLinear out;
  CudaGateUp gate_up;
  CudaLinear down;
};

}  // namespace

void time_layers(CudaContext& context) {
  constexpr int64_t kHidden = 5120;
  constexpr int64_t kIn = 16480;
  constexpr int64_t kValues = 6144;
  constexpr int64_t kInner = 17408;
  constexpr int kLayers = 12;  // 9 GB
  const Pattern pattern(kX, 14, 0.02F);
  std::vector<DenseLayer> layers;
  for (int i = 0; i < kLayers; ++i) {
    layers.push_back({.in = make_linear(pattern, kIn, kHidden),
                      .out = make_linear(pattern, kHidden, kValues),
                      .gate_up = make_gate_up(pattern, kInner, kHidden),
                      .down = make_linear(pattern, kHidden, kInner)});
  }
  const CudaMemory residual = to_device(DType::kF32, random_values(kMostRows * kHidden, 6, 1.0F));
  const CudaMemory delta = to_device(DType::kF32, random_values(kMostRows * kHidden, 7, 1.0F));
  const CudaMemory norm = to_device(DType::kF32, random_values(kHidden, 8, 0.1F));
  const CudaMemory normed(kMostRows * kHidden * 2);
  const CudaMemory projected(kMostRows * kIn * 2);
  const CudaMemory inner(kMostRows * kInner * 2);
  const auto run = [&](const Form& form, int64_t M, bool beside) {
    const auto add_norm = [&] {
      launch_add_rms_norm(context,
                          {.T = M,
                           .H = kHidden,
                           .residual = static_cast<float*>(residual.data()),
                           .delta = static_cast<const float*>(delta.data()),
                           .weight = static_cast<const float*>(norm.data()),
                           .out = normed.data()},
                          beside);
    };
    const auto multiply = [&](const CudaLinear& weight, const CudaMemory& x, int64_t x_stride,
                              const CudaMemory& out, bool out_float) {
      form.linear(context, {.M = M,
                            .x = x.data(),
                            .x_stride = x_stride,
                            .weight = &weight,
                            .out = out.data(),
                            .out_stride = weight.N,
                            .out_float = out_float});
    };
    for (const DenseLayer& layer : layers) {
      add_norm();
      multiply(layer.in, normed, kHidden, projected, false);
      multiply(layer.out, projected, kIn, delta, true);
      add_norm();
      form.gate_up(context, {.M = M,
                             .x = normed.data(),
                             .x_stride = kHidden,
                             .weight = &layer.gate_up,
                             .out = inner.data(),
                             .out_stride = kInner});
      multiply(layer.down, inner, kInner, delta, true);
    }
  };
  const double bytes =
      2.0 * static_cast<double>(kIn * kHidden + kHidden * kValues + 3 * kInner * kHidden);
  for (const Form& form : kForms) {
    for (const int64_t M : {1, 8, 16, 32}) {
      if (!form.serves(context, M, kHidden, kHidden)) {
        continue;
      }
      for (const bool beside : {false, true}) {
        run(form, M, beside);
        print_time(std::string(form.name) + " 27B layer, products and norms, M " +
                       std::to_string(M) + (beside ? ", norms beside" : ""),
                   graph_microseconds(
                       context, [&] { run(form, M, beside); }, 11) /
                       kLayers,
                   bytes / kCopyBytes * 1e6);
      }
    }
  }
}

}  // namespace deltaserve::bench
