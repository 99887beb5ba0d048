// write_kv: scatters the step's K and V rows into the paged cache (kv_layout.h). Pure moves of X.
#include <string>

#include "backends/cpu/kv_layout.h"
#include "backends/cpu/row_ops.h"
#include "backends/cpu/threads.h"

namespace deltaserve {
namespace {

template <typename X>
void write_token(const WriteKvArgs& args, int64_t t) {
  const int64_t slot = args.batch->slot_mapping[t];
  const int64_t offset = slot % kBlockSize;
  const int64_t head_elements = kv_head_elements(args.head_dim);
  X* block =
      static_cast<X*>(args.kv_cache) + slot / kBlockSize * args.num_kv_heads * 2 * head_elements;
  for (int64_t h = 0; h < args.num_kv_heads; ++h) {
    const int64_t source = t * args.kv_stride + h * args.head_dim;
    const X* k = static_cast<const X*>(args.k) + source;
    const X* v = static_cast<const X*>(args.v) + source;
    X* k_out = block + h * 2 * head_elements;
    X* v_out = k_out + head_elements;
    for (int64_t d = 0; d < args.head_dim; ++d) {
      k_out[k_index(offset, d)] = k[d];
      v_out[v_index(offset, d)] = v[d];
    }
  }
}

}  // namespace

Result<void> check_cpu_attention_shape(const CacheShape& shape) {
  if (shape.head_dim % kValueSlice != 0) {
    return invalid("the CPU backend serves attention heads of multiples of " +
                       std::to_string(kValueSlice) + ", not head_dim " +
                       std::to_string(shape.head_dim),
                   "head_dim");
  }
  return {};
}

int64_t cpu_kv_block_bytes(DType compute_dtype, const CacheShape& shape) {
  return shape.num_kv_heads * 2 * kv_head_elements(shape.head_dim) * dtype_size(compute_dtype);
}

void cpu_write_kv(CpuContext& context, const WriteKvArgs& args) {
  constexpr int64_t kGrain = 4;  // tokens: about a microsecond, what waking a thread costs
  parallel_for(context.threads, args.batch->num_tokens, kGrain,
               [&](int64_t begin, int64_t end, int32_t /*thread*/) {
                 for (int64_t t = begin; t < end; ++t) {
                   if (context.compute_dtype == DType::kF32) {
                     write_token<float>(args, t);
                   } else {
                     write_token<uint16_t>(args, t);
                   }
                 }
               });
}

}  // namespace deltaserve
