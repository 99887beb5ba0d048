// A model runner without a model, so that what a request costs in the server can be measured alone:
// every sequence is answered with its own prompt's tokens over and over, first as a thought, then
// as content. A token costs a few loads; a step can be made to last as long as a model's would.
#pragma once

#include <chrono>
#include <vector>

#include "engine/model_runner.h"
#include "text/tokenizer.h"

namespace deltaserve {

struct EchoOptions {
  std::chrono::microseconds step{0};  // a step lasts at least that long
  int64_t reasoning_tokens = 0;       // of an answer, then comes the token that ends the thought
  int64_t num_slots = 0;
};

class EchoRunner : public ModelRunner {
 public:
  // `tokenizer` must outlive this and know "</think>" if a thought is asked for.
  EchoRunner(const EchoOptions& options, const Tokenizer& tokenizer);

  void run(const Batch& batch, std::span<const SamplingRow> rows,
           std::span<SampledToken> sampled) override;

 private:
  void read_prompt(const Batch& batch, size_t sequence);
  int32_t answer(const std::vector<int32_t>& prompt, int64_t position) const;

  EchoOptions options_;
  const Tokenizer* tokenizer_;
  int32_t end_of_thought_;
  std::vector<std::vector<int32_t>> prompts_;  // by state slot, ordinary tokens only
  std::chrono::steady_clock::time_point step_end_;
};

}  // namespace deltaserve
