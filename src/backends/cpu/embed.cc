// embed: rows of the mapped checkpoint table, widened to float32 on the way.
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "backends/cpu/kernels.h"
#include "backends/cpu/matrix_ops.h"
#include "backends/cpu/panel_matrix.h"
#include "backends/cpu/threads.h"
#include "base/check.h"

namespace deltaserve {
namespace {

struct CpuEmbeddingWeight final : EmbeddingWeight {
  TensorView table;
};

void widen_row(const CpuKernels& kernels, DType dtype, const std::byte* row, int64_t H,
               float* out) {
  if (dtype == DType::kF32) {
    std::memcpy(out, row, static_cast<size_t>(H) * sizeof(float));
    return;
  }
  if (dtype == DType::kBF16) {
    kernels.widen(reinterpret_cast<const uint16_t*>(row), H, out);
    return;
  }
  for (int64_t i = 0; i < H; ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, row + i * 2, sizeof(bits));
    out[i] = half_to_float(bits);
  }
}

}  // namespace

Result<std::unique_ptr<EmbeddingWeight>> make_cpu_embedding(const TensorView& table) {
  if (table.shape.size() != 2) {
    return invalid("the embedding table must have the shape [vocabulary, hidden]");
  }
  if (table.is_quantized()) {
    return invalid("the embedding table must not be quantised");
  }
  if (Result<void> checked = check_matrix(table, table.shape[1]); !checked) {
    return std::unexpected(checked.error());
  }
  auto weight = std::make_unique<CpuEmbeddingWeight>();
  weight->V = table.shape[0];
  weight->H = table.shape[1];
  weight->table = table;
  return weight;
}

void cpu_embed(CpuContext& context, const EmbedArgs& args) {
  const auto& weight = static_cast<const CpuEmbeddingWeight&>(*args.table);
  const CpuKernels& kernels = *context.kernels;
  const int64_t H = weight.H;
  const DType dtype = weight.table.dtype;
  parallel_for(context.threads, args.T, 16, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t id = args.ids[t];
      DS_CHECK(id >= 0 && id < weight.V, "token id outside the vocabulary");
      widen_row(kernels, dtype, weight.table.data + id * H * dtype_size(dtype), H,
                args.out + t * H);
    }
  });
}

}  // namespace deltaserve
