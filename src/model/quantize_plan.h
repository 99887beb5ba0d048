// Which tensors a quantised copy of a checkpoint has, and in which shard each lies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/config.h"
#include "model/quantization.h"
#include "tensor/checkpoint.h"
#include "tensor/quantize.h"
#include "tensor/safetensors_writer.h"

namespace deltaserve {

// A tensor of the source and what becomes of it: itself, or codes and scales.
struct Conversion {
  std::string name;
  TensorView source;
  int32_t bits = 0;

  int64_t columns() const { return source.shape.empty() ? 1 : source.shape.back(); }
  int64_t rows() const { return columns() == 0 ? 0 : source.num_elements() / columns(); }
  int64_t groups() const {
    const int64_t size = quantization_group(bits);
    return (columns() + size - 1) / size;
  }
  std::vector<TensorSpec> outputs() const;
  int64_t output_bytes() const {
    return bits == 0 ? source.num_bytes() : rows() * (columns() * bits / 8 + groups() * 2);
  }
};

// Every tensor of `source`, and the head where it is tied to the embeddings and quantised. Errors:
// a tensor that is to be quantised and cannot be, by name.
Result<std::vector<Conversion>> plan_conversions(const Checkpoint& source,
                                                 const ModelConfig& config,
                                                 const QuantizationConfig& quantization);

// Conversions in order, as many a shard as fit; a larger one has a shard of its own.
std::vector<std::vector<Conversion>> plan_quantized_shards(std::vector<Conversion> conversions,
                                                           int64_t max_bytes);

}  // namespace deltaserve
