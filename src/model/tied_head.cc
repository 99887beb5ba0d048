// Compares the stored head with the table of the embeddings.
#include "model/tied_head.h"

#include <cstring>

namespace deltaserve {

namespace {

// Row by row, so that little is held in float32 at once.
bool equal_values(const TensorView& a, const TensorView& b) {
  if (a.dtype == b.dtype) {
    return std::memcmp(a.data, b.data, static_cast<size_t>(a.num_bytes())) == 0;
  }
  for (int64_t row = 0; row < a.shape[0]; ++row) {
    if (to_float_vector(a.rows(row, row + 1)) != to_float_vector(b.rows(row, row + 1))) {
      return false;
    }
  }
  return true;
}

}  // namespace

void check_tied_head(const ModelConfig& config, const TensorView& table, WeightLoader& loader) {
  const bool is_quantized = config.quantization && config.quantization->head_bits != 0;
  if (is_quantized || !loader.has("lm_head.weight")) {
    return;
  }
  const TensorView head =
      loader.take_float("lm_head.weight", {config.vocab_size, config.hidden_size});
  if (!loader.failed() && !equal_values(head, table)) {
    loader.fail_with({.code = ErrorCode::kInvalidArgument,
                      .message = "tensor \"lm_head.weight\" differs from the embeddings although "
                                 "config.json says tie_word_embeddings",
                      .param = "lm_head.weight",
                      .api_code = {}});
  }
}

}  // namespace deltaserve
