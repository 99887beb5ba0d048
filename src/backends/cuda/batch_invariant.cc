// Which kernels serve linear and gate_up_silu of a batch-invariant context.
#include <algorithm>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/fixed_product.h"

namespace deltaserve {
namespace {

// Calls f(first, rows) for pieces of M that the kernels of skinny.cu serve in one order of sums.
template <typename F>
void in_pieces(int64_t M, F&& f) {
  for (int64_t first = 0; first < M; first += kMaxSkinnyRows) {
    f(first, std::min(kMaxSkinnyRows, M - first));
  }
}

// `rows` further on in a buffer of rows that lie `stride` elements of `size` bytes apart.
template <typename T>
T* advance(T* data, int64_t rows, int64_t stride, int64_t size) {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  return static_cast<Byte*>(data) + rows * stride * size;
}

}  // namespace

void launch_matmul(CudaContext& context, const MatmulArgs& args) {
  if (!context.batch_invariant) {
    context.matmul().run(args);
  } else if (serves_fixed(context, args.K, args.x, args.x_stride)) {
    launch_fixed_product(context, args);
  } else {
    launch_plain_product(context, args);
  }
}

void launch_invariant_linear(CudaContext& context, const LinearArgs& args) {
  const auto& weight = static_cast<const CudaLinear&>(*args.weight);
  const DType x = context.compute_dtype;
  if (serves_fixed(context, weight.K, args.x, args.x_stride) || x != DType::kBF16 ||
      !serves_skinny(1, weight.N, weight.K)) {
    launch_matmul(context, matmul_args(args));
    return;
  }
  in_pieces(args.M, [&](int64_t first, int64_t rows) {
    LinearArgs piece = args;
    piece.M = rows;
    piece.x = advance(args.x, first, args.x_stride, dtype_size(x));
    piece.out =
        advance(args.out, first, args.out_stride, dtype_size(args.out_float ? DType::kF32 : x));
    launch_skinny_linear(context, piece);
  });
}

void launch_invariant_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CudaGateUp&>(*args.weight);
  const DType x = context.compute_dtype;
  if (serves_fixed(context, weight.K, args.x, args.x_stride)) {
    launch_fixed_gate_up_silu(context, args);
  } else if (x == DType::kBF16 && serves_skinny(1, 2 * weight.I, weight.K)) {
    in_pieces(args.M, [&](int64_t first, int64_t rows) {
      GateUpSiluArgs piece = args;
      piece.M = rows;
      piece.x = advance(args.x, first, args.x_stride, dtype_size(x));
      piece.out = advance(args.out, first, args.out_stride, dtype_size(x));
      launch_skinny_gate_up_silu(context, piece);
    });
  } else {
    launch_sliced_gate_up_silu(context, args);
  }
}

}  // namespace deltaserve
