// Inputs of a delta rule layer on the device and what the definition makes of them in float64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/cuda_context.h"
#include "ops/delta_args.h"

namespace deltaserve::bench {

inline constexpr int32_t kDim = 128;  // dk and dv

enum class Inputs {
  kTypical,   // decays of a trained model, keys positively correlated as SiLU makes them
  kExtreme,   // log decays down to -320 a token
  kNoDecay,   // g = 0 within float32
  kParallel,  // keys nearly parallel, beta 0.999
};

struct Sequence {
  int32_t context_len = 0;
  int32_t rows = 0;
  bool recurrent = false;
};

struct Shape {
  int32_t num_k_heads = 0;
  int32_t num_v_heads = 0;
  std::vector<Sequence> sequences;

  int32_t tokens() const;
};

// A batch with random inputs; sequence i's state is slot i. Projections are bfloat16 or float32 as
// the context computes. Tokens repeat after 4096 so that long prompts are made quickly.
class DeltaRuleCase {
 public:
  DeltaRuleCase(CudaContext& context, Shape shape, Inputs inputs, uint64_t seed);

  // Puts the initial states back: random, and NaN where a sequence starts.
  void reset_states();
  // The op over all sequences, or over sequence `s` alone and rows [begin, begin + rows) of it.
  void run() { launch(args_); }
  void run_rows(int32_t s, int32_t begin, int32_t rows);

  std::vector<float> output() const;          // [T, Hv, dv]
  std::vector<float> state(int32_t s) const;  // [Hv, dv, dk]
  void poison_rows(int32_t s);                // NaN in q, k, v of a sequence

  // Value head `head` of sequence `s` by the definition: [rows, dv] and [dv, dk].
  struct Expected {
    std::vector<double> output;
    std::vector<double> state;
  };
  Expected expected(int32_t s, int32_t head) const;

  const Shape& shape() const { return shape_; }
  const GatedDeltaRuleArgs& args() const { return args_; }
  void launch(const GatedDeltaRuleArgs& args);

 private:
  int64_t width() const { return (2 * shape_.num_k_heads + shape_.num_v_heads) * int64_t{kDim}; }
  int64_t state_floats() const { return int64_t{shape_.num_v_heads} * kDim * kDim; }
  void make_inputs(Inputs inputs, uint64_t seed);
  void upload(CudaMemory& to, const std::vector<float>& values);
  void view_batch();

  CudaContext& context_;
  Shape shape_;
  int32_t period_ = 0;              // tokens of the random inputs
  std::vector<float> qkv_, gates_;  // [period, width], [period, 2 Hv] b then a, as rounded
  std::vector<float> A_log_, dt_bias_;
  std::vector<float> initial_;   // [Hv, dv, dk] of every sequence that has a context
  std::vector<int32_t> starts_;  // cu_seqlens
  CudaMemory qkv_memory_, gates_memory_, A_log_memory_, dt_bias_memory_, states_memory_,
      out_memory_, batch_memory_;
  BatchView batch_;
  BatchView part_;  // of run_rows
  GatedDeltaRuleArgs args_;
};

}  // namespace deltaserve::bench
