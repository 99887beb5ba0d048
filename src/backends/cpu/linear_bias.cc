// linear_bias: the panels' product, bias and activation on the finished tile while it is in L1.
#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/linear_weight.h"
#include "backends/cpu/matrix_multiply.h"
#include "backends/cpu/simd_targets.h"
#include "backends/cpu/tile_store.h"
#include "backends/cpu/vision_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/linear_bias.cc"
#include <hwy/foreach_target.h>

#include "backends/cpu/simd_math-inl.h"
#include "backends/cpu/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

// x Phi(x). Phi through erfc(z) = t exp(-z² + P(t)), t = 1 / (1 + z / 2), z = |x| / sqrt(2): a
// Chebyshev fit with a relative error below 1.2e-7 for all z >= 0 (Numerical Recipes, 6.2).
template <class D>
HWY_INLINE hn::Vec<D> gelu_erf(D d, hn::Vec<D> x) {
  constexpr float kTerms[] = {0.17087277F,  -0.82215223F, 1.48851587F, -1.13520398F, 0.27886807F,
                              -0.18628806F, 0.09678418F,  0.37409196F, 1.00002368F,  -1.26551223F};
  const auto z = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678F));
  const auto one = hn::Set(d, 1.0F);
  const auto t = hn::Div(one, hn::MulAdd(z, hn::Set(d, 0.5F), one));
  auto p = hn::Set(d, kTerms[0]);
  for (int i = 1; i < 10; ++i) {
    p = hn::MulAdd(p, t, hn::Set(d, kTerms[i]));
  }
  const auto half_erfc = hn::Mul(hn::Mul(hn::Set(d, 0.5F), t), exp(d, hn::NegMulAdd(z, z, p)));
  const auto below = hn::Lt(x, hn::Zero(d));
  return hn::Mul(x, hn::IfThenElse(below, half_erfc, hn::Sub(one, half_erfc)));
}

// 0.5 (1 + tanh(u)) = sigmoid(2u).
template <class D>
HWY_INLINE hn::Vec<D> gelu_tanh(D d, hn::Vec<D> x) {
  const auto cubic = hn::Mul(hn::Mul(hn::Mul(x, x), x), hn::Set(d, 0.044715F));
  const auto twice = hn::Mul(hn::Add(x, cubic), hn::Set(d, 1.5957691F));  // 2 sqrt(2 / pi)
  return hn::Mul(x, sigmoid(d, twice));
}

// c[rows][kPanelColumns], the first `columns` of each: c = activation(c + bias), in place.
void finish_tile(float* c, int64_t rows, int64_t columns, const float* bias,
                 Activation activation) {
  for (int64_t r = 0; r < rows; ++r) {
    float* row = c + r * kPanelColumns;
    for_each_vector(columns, [&](auto d, int64_t i) HWY_ATTR {
      auto x = hn::Add(hn::LoadU(d, row + i), hn::LoadU(d, bias + i));
      if (activation == Activation::kGeluTanh) {
        x = gelu_tanh(d, x);
      } else if (activation == Activation::kGeluErf) {
        x = gelu_erf(d, x);
      }
      hn::StoreU(x, d, row + i);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deltaserve {

void cpu_linear_bias(CpuContext& context, const LinearBiasArgs& args) {
  const LinearArgs& linear = args.linear;
  const auto& weight = static_cast<const CpuLinearWeight&>(*linear.weight);
  const TileStore out = {*context.kernels, linear.out_float ? DType::kF32 : context.compute_dtype,
                         linear.out, linear.out_stride};
  const auto finish = DS_SIMD_FUNCTION(context.isa, finish_tile);
  multiply(context,
           {.matrix = &weight.matrix, .x = linear.x, .x_stride = linear.x_stride, .M = linear.M},
           [&](float* c, int64_t row, int64_t rows, int64_t panel) {
             const int64_t column = panel * kPanelColumns;
             const int64_t columns = std::min(kPanelColumns, weight.N - column);
             finish(c, rows, columns, args.bias + column, args.activation);
             out.store(c, row, rows, column, columns);
           });
}

}  // namespace deltaserve
#endif
