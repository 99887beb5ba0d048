// A head that shares the table of the embeddings.
#pragma once

#include "model/config.h"
#include "model/weight_loader.h"
#include "tensor/tensor_view.h"

namespace deltaserve {

// lm_head may be stored although config.json says that it is tied; it must then hold the values of
// `table` [V, H], in whatever dtype. Errors go to `loader`.
void check_tied_head(const ModelConfig& config, const TensorView& table, WeightLoader& loader);

}  // namespace deltaserve
