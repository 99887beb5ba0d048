// gate_up_silu of the reference backend.
#include <vector>

#include "base/check.h"
#include "ops/reference/reference_ops.h"
#include "ops/reference/reference_weights.h"

namespace deltaserve::reference {

void gate_up_silu(DType x_dtype, const GateUpSiluArgs& args) {
  DS_CHECK(args.x_scale.squares == nullptr, "rows of another backend's linear_norm");
  const auto& weight = static_cast<const ReferenceGateUp&>(*args.weight);
  std::vector<float> gate(static_cast<size_t>(weight.I));
  std::vector<float> up(static_cast<size_t>(weight.I));
  for (int64_t m = 0; m < args.M; ++m) {
    const std::vector<float> x = load_row(x_dtype, args.x, m * args.x_stride, weight.K);
    vector_times_matrix(x.data(), weight.gate.data(), weight.K, weight.I, gate.data());
    vector_times_matrix(x.data(), weight.up.data(), weight.K, weight.I, up.data());
    for (int64_t i = 0; i < weight.I; ++i) {
      const auto column = static_cast<size_t>(i);
      store(x_dtype, args.out, m * args.out_stride + i, silu(gate[column]) * up[column]);
    }
  }
}

}  // namespace deltaserve::reference
