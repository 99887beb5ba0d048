// embed of the reference backend.
#include "ops/reference/reference_ops.h"
#include "ops/reference/reference_weights.h"

namespace deltaserve::reference {

void embed(const EmbedArgs& args) {
  const auto& table = static_cast<const ReferenceEmbedding&>(*args.table);
  for (int64_t t = 0; t < args.T; ++t) {
    for (int64_t i = 0; i < table.H; ++i) {
      const int64_t source = args.ids[t] * table.H + i;
      args.out[t * table.H + i] = table.values[static_cast<size_t>(source)];
    }
  }
}

}  // namespace deltaserve::reference
