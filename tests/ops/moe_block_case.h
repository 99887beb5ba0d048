// A block of experts with random weights, run by a backend as one op or, where it has none, by its
// separate ops as a model uses them.
#pragma once

#include <cstdint>
#include <vector>

#include "conformance.h"
#include "random_matrix.h"

namespace deltaserve {

struct BlockShape {
  int64_t E;
  int64_t I;
  int64_t H;
  int32_t K;
  int64_t shared_I;
};

struct BlockMatrices {
  std::vector<Matrix> experts;  // gate, up, down of each that differs
  Matrix router;
  Matrix shared_gate, shared_up, shared_down;

  // Of the experts the first `distinct` differ, and the others repeat them.
  BlockMatrices(const BlockShape& shape, int64_t distinct)
      : router(shape.E + 1, shape.H, 1),
        shared_gate(shape.shared_I, shape.H, 2),
        shared_up(shape.shared_I, shape.H, 3),
        shared_down(shape.H, shape.shared_I, 4) {
    for (int64_t e = 0; e < distinct; ++e) {
      const auto seed = static_cast<uint32_t>(100 + 3 * e);
      experts.emplace_back(shape.I, shape.H, seed);
      experts.emplace_back(shape.I, shape.H, seed + 1);
      experts.emplace_back(shape.H, shape.I, seed + 2);
    }
  }
  explicit BlockMatrices(const BlockShape& shape) : BlockMatrices(shape, shape.E) {}
};

// The residual [T, H] after the block.
std::vector<float> run_block(Backend& backend, const BlockShape& shape,
                             const BlockMatrices& matrices, int64_t T, bool renormalize);

}  // namespace deltaserve
