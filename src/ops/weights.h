// Handles for weights that a backend holds in a layout of its own. They are made once at load from
// views of the mapped checkpoint; the views may go away afterwards unless said otherwise.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/tensor_view.h"

namespace deltaserve {

// A matrix [N, K] (out, in) for `linear`, made of one or more parts stacked by rows.
class LinearWeight {
 public:
  virtual ~LinearWeight() = default;
  int64_t N = 0;
  int64_t K = 0;
  int64_t bytes = 0;   // what a decode step reads, padding included
  std::string kernel;  // which kernel serves it, for `doctor`
};

// gate and up projections [I, K] each, for `gate_up_silu`.
class GateUpWeight {
 public:
  virtual ~GateUpWeight() = default;
  int64_t I = 0;
  int64_t K = 0;
  int64_t bytes = 0;
  std::string kernel;
};

// All routed experts of one layer: gate, up [E, I, H] and down [E, H, I].
class ExpertsWeight {
 public:
  virtual ~ExpertsWeight() = default;
  int64_t E = 0;
  int64_t I = 0;
  int64_t H = 0;
  int64_t bytes_per_expert = 0;
  std::string kernel;
};

// The embedding table [V, H]. May keep reading the view it was made from (the mapped file).
class EmbeddingWeight {
 public:
  virtual ~EmbeddingWeight() = default;
  int64_t V = 0;
  int64_t H = 0;
};

}  // namespace deltaserve
