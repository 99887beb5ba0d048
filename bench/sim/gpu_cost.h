// What a step costs on one H200: bytes over bandwidth, operations over rate, and the latency chains
// of the delta rule, with the rates that kernels of this project's design reached on that card.
// The model knows shapes only, so any configuration of the family can be simulated.
#pragma once

#include <cstdint>

#include "model/batch.h"
#include "model/config.h"

namespace deltaserve {

// Seconds, bytes and operations a second. Rates are measured ones, not data-sheet peaks.
struct GpuRates {
  double memory_bytes = 141e9;
  double copy_rate = 4.269e12;       // bytes/s, read plus write
  double state_copy_rate = 3.9e12;   // snapshots: read plus write
  double small_matrix_share = 1.0;   // of copy_rate, for up to 16 rows
  double large_matrix_share = 0.88;  // beyond
  double expert_share = 0.80;        // mixture-of-experts layers, any number of rows
  double matrix_flops = 7.4e14;      // sustained under the power cap
  double matrix_flops_moe = 6.1e14;  // with experts of uneven load
  double attention_flops = 6.0e14;   // prefill
  double attention_floor = 5e-6;     // a layer of decode attention, at least
  double delta_floor = 2.6e-6;       // a layer of the delta rule over single tokens, at least
  double delta_share = 0.928;        // of copy_rate, reading and writing states
  double chain_step = 1.08e-6;       // a chunk of one sequence in one layer, one after the other
  double chunk_head = 1.8e-8;        // a chunk and value head when many sequences fill the card
  double prepare_head = 1.5e-8;      // what precedes the chain, a chunk and value head
  double layer_overhead = 3.1e-6;    // norms, rotary, launches
  double row_element = 9.8e-12;      // norms, convolution, SwiGLU: a row, layer and hidden unit
  double row_element_moe = 2.2e-11;  // with sort, gather and combine
  double sampling_floor = 5e-6;
  double sampling_row = 2.5e-7;
  double host_step = 1e-4;  // planning, building and committing a step on the CPU
};

class GpuCost {
 public:
  GpuCost(const ModelConfig& config, const GpuRates& rates);

  // Seconds of a step, copies of states included.
  double step_seconds(const Batch& batch) const;

  int64_t weight_bytes() const;
  int64_t kv_block_bytes() const;
  int64_t state_bytes() const;  // convolution and recurrent state of one sequence

 private:
  double matrix_seconds(double rows, double logits_rows) const;
  double delta_phase_seconds(const Batch& batch, int32_t begin, int32_t end) const;
  double delta_seconds(const Batch& batch) const;
  double attention_seconds(const Batch& batch) const;
  double experts_hit(double rows) const;

  ModelConfig config_;
  GpuRates rates_;
  // Elements of all layers together.
  double dense_weights_ = 0.0;   // mixers, dense or shared feed-forward, router
  double expert_weights_ = 0.0;  // of one expert, over all layers
  double head_weights_ = 0.0;
};

}  // namespace deltaserve
