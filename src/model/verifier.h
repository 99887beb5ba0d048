// Runs recorded cases through a model by batches built by hand: every case is a sequence with its
// own blocks and state slot, its prompt prefilled in chunks, then one recorded id a step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "model/prompt_layout.h"
#include "model/verify.h"

namespace deltaserve {

struct VerifyRun {  // one case being run
  const GoldenCase* golden = nullptr;
  CaseReport report;
  int32_t slot = 0;
  int32_t first_block = 0;
  int32_t position = 0;   // tokens computed
  int32_t scheduled = 0;  // tokens of this step
  int32_t first_row = 0;  // in this step's batch
  PromptLayout layout = {};
  std::vector<std::vector<int32_t>> pages = {};  // of each of the case's items

  int32_t prompt_len() const { return static_cast<int32_t>(golden->input_ids.size()); }
  int32_t length() const { return prompt_len() + static_cast<int32_t>(golden->greedy_ids.size()); }
  int32_t num_blocks() const { return (length() + kBlockSize - 1) / kBlockSize; }
  int32_t token(int32_t at) const {
    return at < prompt_len() ? golden->input_ids[static_cast<size_t>(at)]
                             : golden->greedy_ids[static_cast<size_t>(at - prompt_len())];
  }
};

// Row of the recorded prompt logits for a position, or -1.
int64_t recorded_row(const GoldenCase& golden, int32_t position);

// Row `row` of a recorded float32 matrix [rows, columns].
const float* recorded_values(const TensorView& view, int64_t row);

class Verifier {
 public:
  Verifier(Model& model, const VerifyOptions& options)
      : model_(model), options_(options), V_(static_cast<size_t>(model.config().vocab_size)) {}

  // Calls model.allocate. Errors: as verify_model's, but for the choice of cases.
  Result<void> prepare(const std::vector<const GoldenCase*>& cases);
  void run_all();  // fills the reports of runs()
  std::vector<VerifyRun>& runs() { return runs_; }

 private:
  int32_t step_len(const VerifyRun& run) const {
    const int32_t left = run.prompt_len() - run.position;
    return left <= 0 ? 1 : options_.chunk == 0 ? left : std::min(left, options_.chunk);
  }
  Result<void> place_pictures(VerifyRun& run, StepLimits& limits);
  void encode_pictures();
  void step(std::span<VerifyRun*> active);
  void add_sequence(VerifyRun& run);
  void compare_logits(std::span<VerifyRun*> active);
  void compare_position(VerifyRun& run, int32_t position, std::span<const float> values);
  void compare_ids(VerifyRun& run, std::span<const float> reference, std::span<const float> values);
  void compare_hidden(std::span<VerifyRun*> active, int32_t index, const float* rows, int64_t H);

  Model& model_;
  const VerifyOptions& options_;
  size_t V_;
  std::vector<VerifyRun> runs_;
  Batch batch_;
};

}  // namespace deltaserve
