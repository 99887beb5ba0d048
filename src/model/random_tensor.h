// Tensors of a checkpoint with random weights: names and shapes as released, and values that keep a
// forward pass healthy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/config.h"
#include "tensor/dtype.h"

namespace deltaserve {

enum class RandomKind : uint8_t {
  kNormal,  // mean + deviation * (about normal)
  kALog,    // log of uniform 1 to 16: decay rates as the Gated DeltaNet initialises them
  kDtBias,  // softplus^-1 of a step log-uniform in 0.001 to 0.1
};

struct RandomTensor {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype = DType::kBF16;  // or kF32
  RandomKind kind = RandomKind::kNormal;
  float mean = 0.0F;
  float deviation = 0.0F;

  int64_t num_elements() const;
};

// Everything that load_model takes for this config: experts split one by one for Qwen3-Next, fused
// otherwise, A_log and the gated norm in float32. Projections have deviation 1/sqrt(K); those that
// write to the residual stream 1/sqrt(2 layers) of it, so that the stream stays of order one.
std::vector<RandomTensor> random_tensors(const ModelConfig& config);

// Elements per independently seeded piece, so that threads can share a tensor.
inline constexpr int64_t kRandomPiece = int64_t{1} << 20;

// Writes piece `index` of the tensor (elements index * kRandomPiece and on) to `out`, as many as
// fit in its bytes. The same seed and name give the same values.
void fill_random(const RandomTensor& tensor, uint64_t seed, int64_t index,
                 std::span<std::byte> out);

}  // namespace deltaserve
