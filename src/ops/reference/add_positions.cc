// add_positions of the reference backend.
#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {

void add_positions(const AddPositionsArgs& args) {
  constexpr int64_t kTaps = 4;
  for (int64_t t = 0; t < args.T; ++t) {
    for (int64_t i = 0; i < args.H; ++i) {
      float sum = 0.0F;
      for (int64_t k = 0; k < kTaps; ++k) {
        sum += args.weights[k * args.T + t] * args.table[args.taps[k * args.T + t] * args.H + i];
      }
      args.residual[t * args.H + i] += sum;
    }
  }
}

}  // namespace deltaserve::reference
