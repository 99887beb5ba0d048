// Shapes, rows and a call of the op for the tests of the gated delta rule.
#pragma once

#include <cstdint>
#include <vector>

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

// Of one slot.
inline size_t delta_slot_floats(const Backend& backend, const DeltaHeads& heads) {
  const int64_t bytes =
      backend.recurrent_state_bytes({.num_v_heads = heads.Hv, .dk = heads.dk, .dv = heads.dv});
  return static_cast<size_t>(bytes) / sizeof(float);
}

struct DeltaTensors {
  const DeviceTensor& A_log;    // [Hv]
  const DeviceTensor& dt_bias;  // [Hv]
  const DeviceTensor& states;   // of all slots
};

// The rows of all sequences: `qkv` [T, width], `gates` [T, 2 Hv], b before a.
inline std::vector<float> run_delta_rule(Backend& backend, const DeltaHeads& heads,
                                         const std::vector<float>& qkv,
                                         const std::vector<float>& gates,
                                         const std::vector<SequenceRows>& sequences,
                                         const DeltaTensors& tensors) {
  const DType x = backend.compute_dtype();
  const DeviceTensor in(backend, x, qkv);
  const DeviceTensor b(backend, x, gates);
  const auto T = static_cast<int64_t>(qkv.size()) / heads.width();
  const DeviceTensor out(backend, x, static_cast<size_t>(T * heads.out_width()));
  const DeviceBatch batch(backend, sequences);
  backend.gated_delta_rule({.batch = batch.view(),
                            .num_k_heads = heads.Hk,
                            .num_v_heads = heads.Hv,
                            .dk = heads.dk,
                            .dv = heads.dv,
                            .qkv = in.data(),
                            .qkv_stride = heads.width(),
                            .b = b.data(),
                            .a = static_cast<char*>(b.data()) + heads.Hv * dtype_size(x),
                            .ba_stride = int64_t{2} * heads.Hv,
                            .A_log = tensors.A_log.floats(),
                            .dt_bias = tensors.dt_bias.floats(),
                            .state = tensors.states.floats(),
                            .out = out.data(),
                            .out_stride = heads.out_width()});
  return out.values();
}

}  // namespace deltaserve
