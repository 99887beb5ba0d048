// Shapes and rows of the tests of the gated delta rule.
#pragma once

#include <cstdint>

#include "conformance.h"

namespace deltaserve {

struct DeltaHeads {
  int32_t Hk = 2;
  int32_t Hv = 4;
  int32_t dk = 32;
  int32_t dv = 32;

  int64_t width() const { return int64_t{2} * Hk * dk + int64_t{Hv} * dv; }
  int64_t out_width() const { return int64_t{Hv} * dv; }
};

inline SequenceRows rows_of(int32_t slot, int32_t context_len, int32_t rows,
                            bool recurrent = false) {
  SequenceRows sequence = make_sequences({{context_len, rows}}, 1)[0];
  sequence.slot = slot;
  sequence.recurrent = recurrent;
  return sequence;
}

}  // namespace deltaserve
