// Collects the outputs of requests as a client would, and checks their form while doing so.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

#include "engine/engine_core.h"

namespace deltaserve {

struct ChoiceRecord {
  std::vector<int32_t> tokens;
  std::vector<TokenLogprob> logprobs;
  std::optional<FinishReason> reason;
  std::optional<int32_t> stop_token;
  std::optional<Error> error;
};

struct RequestRecord {
  std::map<int32_t, ChoiceRecord> choices;
  std::vector<std::optional<TokenLogprob>> prompt_logprobs;
  int64_t num_prompt_tokens = 0;
  int64_t num_cached_tokens = 0;
  bool finished = false;

  bool any(FinishReason reason) const {
    for (const auto& [index, choice] : choices) {
      if (choice.reason == reason) return true;
    }
    return false;
  }
};

class Recorder {
 public:
  // Takes one step's outputs; returns the requests that finished with it.
  std::vector<RequestId> take(std::vector<RequestOutput>&& outputs) {
    std::vector<RequestId> finished;
    for (RequestOutput& output : outputs) {
      RequestRecord& record = records[output.id];
      EXPECT_FALSE(record.finished) << "output after the last one";
      record.num_prompt_tokens = output.num_prompt_tokens;
      record.num_cached_tokens = output.num_cached_tokens;
      if (!output.prompt_logprobs.empty()) {
        EXPECT_TRUE(record.prompt_logprobs.empty()) << "prompt logprobs came twice";
        for (const auto& [index, choice] : record.choices) {
          EXPECT_TRUE(choice.tokens.empty()) << "prompt logprobs came after a token";
        }
        record.prompt_logprobs = std::move(output.prompt_logprobs);
      }
      for (ChoiceOutput& choice : output.choices) take_choice(choice, record);
      record.finished = output.finished;
      if (output.finished) finished.push_back(output.id);
    }
    return finished;
  }

  std::map<RequestId, RequestRecord> records;

 private:
  static void take_choice(const ChoiceOutput& output, RequestRecord& record) {
    ChoiceRecord& choice = record.choices[output.index];
    EXPECT_FALSE(choice.reason.has_value()) << "output after the choice's end";
    choice.tokens.insert(choice.tokens.end(), output.token_ids.begin(), output.token_ids.end());
    choice.logprobs.insert(choice.logprobs.end(), output.logprobs.begin(), output.logprobs.end());
    choice.reason = output.finish_reason;
    choice.stop_token = output.stop_token;
    choice.error = output.error;
    EXPECT_EQ(output.finish_reason == FinishReason::kError, output.error.has_value());
    EXPECT_EQ(output.finish_reason == FinishReason::kStop, output.stop_token.has_value());
  }
};

}  // namespace deltaserve
