// write_kv of the reference backend. A KV block holds K [nkv, kBlockSize, hd], then V the same.
#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {

int64_t kv_index(int64_t slot, bool value, int64_t head, int64_t num_kv_heads, int64_t head_dim) {
  const int64_t block = slot / kBlockSize;
  const int64_t offset = slot % kBlockSize;
  return (((block * 2 + (value ? 1 : 0)) * num_kv_heads + head) * kBlockSize + offset) * head_dim;
}

void write_kv(DType x_dtype, const WriteKvArgs& args) {
  for (int64_t t = 0; t < args.batch->num_tokens; ++t) {
    const int64_t slot = args.batch->slot_mapping[t];
    for (int64_t h = 0; h < args.num_kv_heads; ++h) {
      const int64_t source = t * args.kv_stride + h * args.head_dim;
      const int64_t k_first = kv_index(slot, false, h, args.num_kv_heads, args.head_dim);
      const int64_t v_first = kv_index(slot, true, h, args.num_kv_heads, args.head_dim);
      for (int64_t d = 0; d < args.head_dim; ++d) {
        store(x_dtype, args.kv_cache, k_first + d, load(x_dtype, args.k, source + d));
        store(x_dtype, args.kv_cache, v_first + d, load(x_dtype, args.v, source + d));
      }
    }
  }
}

}  // namespace deltaserve::reference
