// The products of layers of the 27B model one after the other as a decode step has them, with the
// norms between them but nothing else: what small kernels between large ones cost, and where the
// products make the norms, what is lost from one product to the next.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "few_rows.h"
#include "graph_timer.h"

namespace deltaserve::bench {
namespace {

constexpr int64_t kHidden = 5120;
constexpr int64_t kIn = 16480;
constexpr int64_t kValues = 6144;
constexpr int64_t kInner = 17408;
constexpr int kLayers = 12;  // 9 GB

struct DenseLayer {
  CudaLinear in;
  CudaLinear out;
  CudaGateUp gate_up;
  CudaLinear down;
};

enum class Norms {
  kBetween,   // kernels between the products
  kBeside,    // the same, which let the next product start
  kProducts,  // linear_norm
};

class Layers {
 public:
  explicit Layers(CudaContext& context) : context_(context) {
    const Pattern pattern(kX, 14, 0.02F);
    for (int i = 0; i < kLayers; ++i) {
      layers_.push_back({.in = make_linear(pattern, kIn, kHidden),
                         .out = make_linear(pattern, kHidden, kValues),
                         .gate_up = make_gate_up(pattern, kInner, kHidden),
                         .down = make_linear(pattern, kHidden, kInner)});
    }
  }

  // False if the form's products do not make norms.
  bool run(const Form& form, int64_t M, Norms norms) {
    NormScale scale;
    if (norms == Norms::kProducts) {
      add_norm(M, false);
    }
    for (const DenseLayer& layer : layers_) {
      if (norms != Norms::kProducts) {
        add_norm(M, norms == Norms::kBeside);
      }
      LinearArgs in = linear_args(M, layer.in, normed_, kHidden, projected_, false);
      in.x_scale = scale;
      form.linear(context_, in);
      const LinearArgs out = linear_args(M, layer.out, projected_, kIn, delta_, true);
      if (!add_output(form, out, 2 * kInner, norms, scale)) {
        return false;
      }
      form.gate_up(context_, {.M = M,
                              .x = normed_.data(),
                              .x_stride = kHidden,
                              .weight = &layer.gate_up,
                              .out = inner_.data(),
                              .out_stride = kInner,
                              .x_scale = scale});
      const LinearArgs down = linear_args(M, layer.down, inner_, kInner, delta_, true);
      if (norms == Norms::kProducts) {
        add_output(form, down, kIn, norms, scale);
      } else {
        form.linear(context_, down);
      }
    }
    return true;
  }

 private:
  static LinearArgs linear_args(int64_t M, const CudaLinear& weight, const CudaMemory& x,
                                int64_t x_stride, const CudaMemory& out, bool out_float) {
    return {.M = M,
            .x = x.data(),
            .x_stride = x_stride,
            .weight = &weight,
            .out = out.data(),
            .out_stride = weight.N,
            .out_float = out_float};
  }

  void add_norm(int64_t M, bool beside) {
    launch_add_rms_norm(context_,
                        {.T = M,
                         .H = kHidden,
                         .residual = static_cast<float*>(residual_.data()),
                         .delta = static_cast<const float*>(delta_.data()),
                         .weight = static_cast<const float*>(norm_.data()),
                         .out = normed_.data()},
                        beside);
  }

  // The product, and its norm for one with `next_rows` rows of weights.
  bool add_output(const Form& form, const LinearArgs& product, int64_t next_rows, Norms norms,
                  NormScale& scale) {
    if (norms != Norms::kProducts) {
      form.linear(context_, product);
      add_norm(product.M, norms == Norms::kBeside);
      return true;
    }
    if (form.linear_norm == nullptr) {
      return false;
    }
    const std::optional<NormScale> made =
        form.linear_norm(context_, {.linear = product,
                                    .residual = static_cast<float*>(residual_.data()),
                                    .weight = static_cast<const float*>(norm_.data()),
                                    .out = normed_.data(),
                                    .squares = static_cast<float*>(squares_.data()),
                                    .next_rows = next_rows});
    scale = made.value_or(NormScale{});
    return made.has_value();
  }

  CudaContext& context_;
  std::vector<DenseLayer> layers_;
  CudaMemory residual_ = to_device(DType::kF32, random_values(kMostRows* kHidden, 6, 1.0F));
  CudaMemory delta_ = to_device(DType::kF32, random_values(kMostRows* kHidden, 7, 1.0F));
  CudaMemory norm_ = to_device(DType::kF32, random_values(kHidden, 8, 0.1F));
  CudaMemory squares_ = CudaMemory(kNormSquares * sizeof(float));
  CudaMemory normed_ = CudaMemory(kMostRows * kHidden * 2);
  CudaMemory projected_ = CudaMemory(kMostRows * kIn * 2);
  CudaMemory inner_ = CudaMemory(kMostRows * kInner * 2);
};

}  // namespace

void time_layers(CudaContext& context) {
  struct Way {
    Norms norms;
    const char* name;
  };
  constexpr Way kWays[] = {{Norms::kBetween, ""},
                           {Norms::kBeside, ", norms beside"},
                           {Norms::kProducts, ", norms in products"}};
  Layers layers(context);
  const double bytes =
      2.0 * static_cast<double>(kIn * kHidden + kHidden * kValues + 3 * kInner * kHidden);
  for (const Form& form : kForms) {
    for (const int64_t M : {1, 8, 16, 32}) {
      if (!form.serves(context, M, kHidden, kHidden)) {
        continue;
      }
      for (const Way& way : kWays) {
        if (!layers.run(form, M, way.norms)) {
          continue;
        }
        print_time(std::string(form.name) + " 27B layer, products and norms, M " +
                       std::to_string(M) + way.name,
                   graph_microseconds(
                       context, [&] { layers.run(form, M, way.norms); }, 11) /
                       kLayers,
                   bytes / kCopyBytes * 1e6);
      }
    }
  }
}

}  // namespace deltaserve::bench
