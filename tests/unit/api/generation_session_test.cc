// Answers as clients see them: chunks, bodies, stop strings, choices, usage, errors.
#include <gtest/gtest.h>

#include <algorithm>

#include "session_fixture.h"

namespace deltaserve {
namespace {

using GenerationSessionTest = SessionTest;

TEST_F(GenerationSessionTest, StreamsRoleTextFinishUsageDone) {
  const Answer answer =
      run_chat(R"("stream":true,"stream_options":{"include_usage":true},"max_tokens":20)",
               steps(with_eos("Hello world"), FinishReason::kStop));
  ASSERT_GE(answer.chunks.size(), 4U);
  const json::Object& first = answer.chunks.front();
  EXPECT_EQ(first.at("object"), "chat.completion.chunk");
  EXPECT_EQ(first.at("choices").at(0).at("delta").at("role"), "assistant");
  for (size_t i = 0; i < answer.chunks.size(); ++i) {
    for (const char* key : {"id", "created", "model"}) {
      EXPECT_EQ(answer.chunks[i].at(key), first.at(key));
    }
    const bool last = i + 1 == answer.chunks.size();
    EXPECT_EQ(answer.chunks[i].contains("usage"), last);
    EXPECT_EQ(answer.chunks[i].at("choices").get_array().empty(), last);
    if (i > 0 && !last) {
      EXPECT_FALSE(answer.chunks[i].at("choices").at(0).at("delta").get_object().contains("role"));
    }
  }
  EXPECT_EQ(streamed_text(answer), "Hello world");
  EXPECT_EQ(whole_text(answer), "Hello world");
  EXPECT_EQ(finish_of(answer), "stop");
  EXPECT_TRUE(finish_of(answer, "stop_reason").is_null());
  const json::Value& usage = answer.chunks.back().at("usage");
  EXPECT_EQ(usage, answer.body.at("usage"));
  EXPECT_EQ(usage.at("completion_tokens"), with_eos("Hello world").size());
  EXPECT_EQ(usage.at("total_tokens").to_number<int64_t>(),
            usage.at("prompt_tokens").to_number<int64_t>() +
                usage.at("completion_tokens").to_number<int64_t>());
  EXPECT_EQ(usage.at("prompt_tokens_details").at("cached_tokens"), 3);
  EXPECT_EQ(answer.body.at("object"), "chat.completion");
  EXPECT_TRUE(answer.body.at("id").get_string().starts_with("chatcmpl-"));
}

TEST_F(GenerationSessionTest, LengthFinishReleasesHeldText) {
  const Answer answer =
      run_chat(R"("stop":"world!")", steps(encode("Hello world"), FinishReason::kLength));
  EXPECT_EQ(streamed_text(answer), "Hello world");
  EXPECT_EQ(whole_text(answer), "Hello world");
  EXPECT_EQ(finish_of(answer), "length");
  EXPECT_TRUE(answer.stopped.empty());
}

TEST_F(GenerationSessionTest, StopStringsEndOneChoiceAcrossTokenBorders) {
  const std::vector<int32_t> ids = encode("alpha beta gamma delta");
  const Answer answer = run_chat(R"("stop":["beta gamma"])", steps(ids, FinishReason::kLength));
  EXPECT_EQ(streamed_text(answer), "alpha ");
  EXPECT_EQ(whole_text(answer), "alpha ");
  EXPECT_EQ(finish_of(answer), "stop");
  EXPECT_EQ(finish_of(answer, "stop_reason"), "beta gamma");
  EXPECT_EQ(answer.stopped, std::vector<int32_t>{0});
  const auto used = answer.body.at("usage").at("completion_tokens").to_number<size_t>();
  EXPECT_LT(used, ids.size());
  EXPECT_TRUE(
      context_->tokenizer->decode({ids.begin(), ids.begin() + static_cast<long>(used)}, true)
          .starts_with("alpha beta gamma"));
}

TEST_F(GenerationSessionTest, IncludedStopStringIsShown) {
  const Answer answer = run_chat(R"("stop":"beta","include_stop_str_in_output":true)",
                                 steps(encode("alpha beta gamma"), FinishReason::kLength));
  EXPECT_EQ(streamed_text(answer), "alpha beta");
  EXPECT_EQ(whole_text(answer), "alpha beta");
}

TEST_F(GenerationSessionTest, MinTokensHoldsStopStringsOff) {
  const std::vector<int32_t> ids = encode("beta alpha beta");
  const size_t first = encode("beta").size();
  const Answer answer = run_chat(R"("stop":"beta","min_tokens":)" + std::to_string(first),
                                 steps(ids, FinishReason::kLength));
  EXPECT_EQ(whole_text(answer), "beta alpha ");
}

TEST_F(GenerationSessionTest, StopTokenIdsHideTheirTextAndAreTheReason) {
  std::vector<int32_t> ids = encode("one two");
  const int32_t last = ids.back();
  const std::string rest = context_->tokenizer->decode({ids.begin(), ids.end() - 1}, true);
  const std::string fields = R"("stop_token_ids":[)" + std::to_string(last) + "]";
  const Answer hidden = run_chat(fields, steps(ids, FinishReason::kStop));
  EXPECT_EQ(whole_text(hidden), rest);
  EXPECT_EQ(finish_of(hidden, "stop_reason"), last);
  const Answer shown =
      run_chat(fields + R"(,"include_stop_str_in_output":true)", steps(ids, FinishReason::kStop));
  EXPECT_EQ(whole_text(shown), "one two");
}

TEST_F(GenerationSessionTest, SpecialTokensAreShownOnRequest) {
  std::vector<int32_t> ids = encode("a");
  ids.insert(ids.end(), {4009, kEos});  // <|vision_start|>
  EXPECT_EQ(whole_text(run_chat("", steps(ids, FinishReason::kStop))), "a");
  const Answer shown = run_chat(R"("skip_special_tokens":false)", steps(ids, FinishReason::kStop));
  EXPECT_EQ(whole_text(shown), "a<|vision_start|>");
  EXPECT_EQ(streamed_text(shown), "a<|vision_start|>");
}

TEST_F(GenerationSessionTest, NeverSplitsACharacterAndRepairsAtTheEnd) {
  const std::vector<int32_t> ids = encode("日本🎉🇩🇪");
  const Answer whole = run_chat("", steps(ids, FinishReason::kLength));
  EXPECT_EQ(streamed_text(whole), "日本🎉🇩🇪");
  for (const json::Object& chunk : whole.chunks) {
    EXPECT_EQ(json::serialize(chunk).find("\xEF\xBF\xBD"), std::string::npos);
  }
  const auto byte = context_->tokenizer->encode("🎉").front();
  const Answer cut = run_chat("", steps({byte}, FinishReason::kLength));
  EXPECT_EQ(streamed_text(cut), whole_text(cut));
}

TEST_F(GenerationSessionTest, ChoicesAreIndependent) {
  std::vector<RequestOutput> outputs;
  const auto zero = steps(encode("one stop two"), FinishReason::kLength, 0);
  const auto one = steps(with_eos("other text here"), FinishReason::kStop, 1);
  for (size_t i = 0; i < std::max(zero.size(), one.size()); ++i) {
    if (i < zero.size()) {
      outputs.push_back(zero[i]);
    }
    if (i < one.size()) {
      outputs.push_back(one[i]);
    }
  }
  const Answer answer = run_chat(R"("n":2,"stop":"stop")", outputs);
  EXPECT_EQ(streamed_text(answer, 0), "one ");
  EXPECT_EQ(streamed_text(answer, 1), "other text here");
  EXPECT_EQ(whole_text(answer, 0), "one ");
  EXPECT_EQ(whole_text(answer, 1), "other text here");
  EXPECT_EQ(answer.stopped, std::vector<int32_t>{0});
  int roles = 0;
  for (const json::Object& chunk : answer.chunks) {
    roles += chunk.at("choices").at(0).at("delta").get_object().contains("role") ? 1 : 0;
  }
  EXPECT_EQ(roles, 2);
}

TEST_F(GenerationSessionTest, SeveralPromptsNumberTheirChoicesOn) {
  const auto prepared = service_.completion(R"({"prompt":["a","b"],"n":1})");
  ASSERT_TRUE(prepared);
  GenerationSession session(context_, prepared->job.options, prepared->job.prompts);
  std::string events;
  for (const RequestOutput& output : steps(encode("second"), FinishReason::kLength)) {
    session.on_output(1, output, events);
  }
  EXPECT_FALSE(session.finished());
  for (const RequestOutput& output : steps(encode("first"), FinishReason::kLength)) {
    session.on_output(0, output, events);
  }
  ASSERT_TRUE(session.finished());
  const json::Object body = object(session.body());
  EXPECT_EQ(body.at("choices").at(0).at("text"), "first");
  EXPECT_EQ(body.at("choices").at(1).at("text"), "second");
  EXPECT_EQ(body.at("choices").at(1).at("index"), 1);
}

TEST_F(GenerationSessionTest, TokenIdsAreReturnedOnRequest) {
  const std::vector<int32_t> ids = with_eos("Hello");
  const Answer answer = run_chat(R"("return_token_ids":true)", steps(ids, FinishReason::kStop));
  EXPECT_EQ(answer.body.at("choices").at(0).at("token_ids"), json::Array(ids.begin(), ids.end()));
  EXPECT_FALSE(answer.body.at("prompt_token_ids").get_array().empty());
  EXPECT_FALSE(
      answer.chunks.front().at("choices").at(0).at("prompt_token_ids").get_array().empty());
  json::Array streamed;
  for (const json::Object& chunk : answer.chunks) {
    if (const json::Value* list = chunk.at("choices").at(0).get_object().if_contains("token_ids")) {
      streamed.insert(streamed.end(), list->get_array().begin(), list->get_array().end());
    }
  }
  EXPECT_EQ(streamed, json::Array(ids.begin(), ids.end()));
}

TEST_F(GenerationSessionTest, ContinuousUsageIsInEveryChunk) {
  const Answer answer = run_chat(
      R"("stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true})",
      steps(with_eos("Hello world"), FinishReason::kStop));
  int64_t before = 0;
  for (const json::Object& chunk : answer.chunks) {
    const auto tokens = chunk.at("usage").at("completion_tokens").to_number<int64_t>();
    EXPECT_GE(tokens, before);
    before = tokens;
  }
}

TEST_F(GenerationSessionTest, EngineErrorsFailTheAnswer) {
  auto outputs = steps(encode("Hello world"), FinishReason::kError);
  outputs.back().choices[0].error = Error{ErrorCode::kInternal, "non-finite logit", "", ""};
  const Answer answer = run_chat("", outputs);
  ASSERT_TRUE(answer.error);
  EXPECT_EQ(answer.error->message, "non-finite logit");
  const auto prepared = service_.chat(chat(""));
  ASSERT_TRUE(prepared);
  GenerationSession session(context_, prepared->job.options, prepared->job.prompts);
  std::string events;
  session.append_stream_error(*answer.error, events);
  EXPECT_EQ(parse_events(events).at(0).at("error").at("message"), "non-finite logit");
  EXPECT_EQ(run_chat("", steps(encode("a"), FinishReason::kAbort)).error->code,
            ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace deltaserve
