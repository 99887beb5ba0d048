// EchoRunner: keeps each prompt under its sequence's state slot.
#include "echo_runner.h"

#include <algorithm>
#include <thread>

#include "base/check.h"

namespace deltaserve {

EchoRunner::EchoRunner(const EchoOptions& options, const Tokenizer& tokenizer)
    : options_(options),
      tokenizer_(&tokenizer),
      end_of_thought_(tokenizer.token_to_id("</think>").value_or(-1)),
      prompts_(static_cast<size_t>(options.num_slots)) {
  DS_CHECK(options.reasoning_tokens == 0 || end_of_thought_ >= 0);
}

void EchoRunner::run(const Batch& batch, std::span<const SamplingRow> rows,
                     std::span<SampledToken> sampled) {
  for (size_t b = 0; b < batch.state_slots.size(); ++b) {
    if (batch.recurrent[b] == 0) {
      read_prompt(batch, b);
    }
  }
  size_t b = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    while (batch.logits_rows[r] >= batch.cu_seqlens[b + 1]) {
      ++b;
    }
    const auto slot = static_cast<size_t>(batch.state_slots[b]);
    sampled[r].token = answer(prompts_.at(slot), rows[r].position);
  }
  if (options_.step.count() > 0) {
    // Measured from the end of the last step, as a device's time is; an idle time counts as none.
    step_end_ = std::max(step_end_ + options_.step, std::chrono::steady_clock::now());
    std::this_thread::sleep_until(step_end_);
  }
}

void EchoRunner::read_prompt(const Batch& batch, size_t sequence) {
  std::vector<int32_t>& prompt = prompts_.at(static_cast<size_t>(batch.state_slots[sequence]));
  if (batch.context_lens[sequence] == 0) {
    prompt.clear();
  }
  const auto begin = static_cast<size_t>(batch.cu_seqlens[sequence]);
  const auto end = static_cast<size_t>(batch.cu_seqlens[sequence + 1]);
  for (size_t i = begin; i < end; ++i) {
    if (!tokenizer_->is_added(batch.input_ids[i])) {
      prompt.push_back(batch.input_ids[i]);
    }
  }
}

int32_t EchoRunner::answer(const std::vector<int32_t>& prompt, int64_t position) const {
  DS_CHECK(!prompt.empty(), "the prompt has no ordinary token to echo");
  if (position == options_.reasoning_tokens && position > 0) {
    return end_of_thought_;
  }
  return prompt[static_cast<size_t>(position) % prompt.size()];
}

}  // namespace deltaserve
