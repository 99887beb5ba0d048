// Answers as clients see them: chunks, bodies, stop strings, log probabilities, usage. The streamed
// and the whole answer are compared in each case.
#include "api/generation_session.h"

#include <gtest/gtest.h>

#include "api_fixture.h"

namespace deltaserve {
namespace {

constexpr int32_t kEos = 4002;

struct Answer {
  std::vector<json::Object> chunks;  // streamed
  json::Object body;                 // not streamed
  std::vector<int32_t> stopped;      // choices that the session ended itself
  std::optional<Error> error;
};

class GenerationSessionTest : public ApiTest {
 protected:
  // One token a step for choice `index`; the last step carries `reason`.
  static std::vector<RequestOutput> steps(const std::vector<int32_t>& ids, FinishReason reason,
                                          int32_t index = 0) {
    std::vector<RequestOutput> out;
    for (size_t i = 0; i < ids.size(); ++i) {
      RequestOutput output;
      output.num_cached_tokens = 3;
      ChoiceOutput choice;
      choice.index = index;
      choice.token_ids = {ids[i]};
      choice.logprobs = {{ids[i], -0.5F, {{ids[i], -0.5F}, {7, -1.25F}}}};
      if (i + 1 == ids.size()) {
        choice.finish_reason = reason;
        if (reason == FinishReason::kStop) {
          choice.stop_token = ids[i];
        }
      }
      output.choices.push_back(std::move(choice));
      out.push_back(std::move(output));
    }
    return out;
  }

  std::vector<int32_t> encode(std::string_view text) const {
    return context_->tokenizer->encode(text);
  }

  std::vector<int32_t> with_eos(std::string_view text) const {
    std::vector<int32_t> ids = encode(text);
    ids.push_back(kEos);
    return ids;
  }

  // Runs the same outputs through a streamed and a whole answer.
  Answer run(const ApiService::Prepared& prepared, const std::vector<RequestOutput>& outputs,
             size_t prompt_index = 0) {
    Answer answer;
    for (const bool stream : {true, false}) {
      ResponseOptions options = prepared.job.options;
      options.stream = stream;
      GenerationSession session(context_, options, prepared.job.prompts);
      std::string events;
      std::optional<Error> error;
      std::vector<int32_t> stopped;
      for (const RequestOutput& output : outputs) {
        const auto progress = session.on_output(prompt_index, output, events);
        error = progress.error ? progress.error : error;
        stopped.insert(stopped.end(), progress.stopped_choices.begin(),
                       progress.stopped_choices.end());
      }
      answer.error = error;
      answer.stopped = stopped;
      if (stream) {
        if (session.finished()) {
          session.append_stream_end(events);
        }
        answer.chunks = parse_events(events);
      } else {
        EXPECT_TRUE(events.empty());
        if (session.finished()) {
          answer.body = object(session.body());
        }
      }
    }
    return answer;
  }

  Answer run_chat(std::string_view fields, const std::vector<RequestOutput>& outputs) {
    const auto prepared = service_.chat(chat(fields));
    EXPECT_TRUE(prepared) << prepared.error().message;
    return run(*prepared, outputs);
  }

  // The JSON of each event but [DONE], which must come once and last.
  static std::vector<json::Object> parse_events(std::string_view events) {
    std::vector<json::Object> chunks;
    bool done = false;
    while (!events.empty()) {
      const size_t end = events.find("\n\n");
      EXPECT_NE(end, std::string_view::npos);
      const std::string_view event = events.substr(0, end);
      events.remove_prefix(end + 2);
      EXPECT_FALSE(done);
      EXPECT_TRUE(event.starts_with("data: ")) << event;
      if (event == "data: [DONE]") {
        done = true;
        continue;
      }
      chunks.push_back(object(event.substr(6)));
    }
    return chunks;
  }

  static std::string streamed_text(const Answer& answer, int64_t index = 0) {
    std::string text;
    for (const json::Object& chunk : answer.chunks) {
      for (const json::Value& choice : chunk.at("choices").get_array()) {
        const json::Value* delta = choice.get_object().if_contains("delta");
        const json::Value* content = delta != nullptr ? delta->get_object().if_contains("content")
                                                      : choice.get_object().if_contains("text");
        if (choice.at("index") == index && content != nullptr) {
          text += content->get_string().c_str();
        }
      }
    }
    return text;
  }

  static std::string whole_text(const Answer& answer, size_t index = 0) {
    const json::Value& choice = answer.body.at("choices").at(index);
    const json::Value* text = choice.get_object().if_contains("text");
    return (text != nullptr ? *text : choice.at("message").at("content")).get_string().c_str();
  }

  // finish_reason of the chunk with an empty delta, which must exist once.
  static json::Value finish_of(const Answer& answer, const char* key = "finish_reason") {
    json::Value found;
    for (const json::Object& chunk : answer.chunks) {
      for (const json::Value& choice : chunk.at("choices").get_array()) {
        if (!choice.at("finish_reason").is_null()) {
          EXPECT_TRUE(found.is_null());
          if (const json::Value* delta = choice.get_object().if_contains("delta")) {
            EXPECT_TRUE(delta->get_object().empty());
          }
          found = choice.at(key);
        }
      }
    }
    return found;
  }
};

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
  const std::vector<int32_t> ids = {4024, 4009, kEos};  // <think>, <|vision_start|>
  EXPECT_EQ(whole_text(run_chat("", steps(ids, FinishReason::kStop))), "<think>");
  const Answer shown = run_chat(R"("skip_special_tokens":false)", steps(ids, FinishReason::kStop));
  EXPECT_EQ(whole_text(shown), "<think><|vision_start|>");
  EXPECT_EQ(streamed_text(shown), "<think><|vision_start|>");
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

TEST_F(GenerationSessionTest, LogprobsAddUpToTheText) {
  const std::vector<int32_t> ids = with_eos("Grüße 🎉 beta!");
  const Answer answer = run_chat(R"("logprobs":true,"top_logprobs":2,"stop":"beta gamma")",
                                 steps(ids, FinishReason::kStop));
  const json::Array& whole =
      answer.body.at("choices").at(0).at("logprobs").at("content").get_array();
  EXPECT_EQ(whole.size(), ids.size());
  std::string bytes;
  json::Array streamed;
  size_t shown = 0;
  std::string text;
  for (const json::Object& chunk : answer.chunks) {
    const json::Value& choice = chunk.at("choices").at(0);
    if (const json::Value* content = choice.at("delta").get_object().if_contains("content")) {
      text += content->get_string().c_str();
    }
    if (choice.at("logprobs").is_null()) {
      continue;
    }
    for (const json::Value& entry : choice.at("logprobs").at("content").get_array()) {
      streamed.push_back(entry);
      shown += entry.at("bytes").get_array().size();
    }
    EXPECT_LE(shown, text.size());
  }
  EXPECT_EQ(streamed, whole);
  for (const json::Value& entry : whole) {
    EXPECT_LE(entry.at("logprob").to_number<double>(), 0.0);
    EXPECT_EQ(entry.at("top_logprobs").get_array().size(), 2U);
    for (const json::Value& byte : entry.at("bytes").get_array()) {
      bytes.push_back(static_cast<char>(byte.to_number<int>()));
    }
  }
  EXPECT_EQ(bytes, "Grüße 🎉 beta!");
}

TEST_F(GenerationSessionTest, LogprobsBehindAStopStringAreDropped) {
  const std::vector<int32_t> ids = encode("alpha beta gamma");
  const Answer answer =
      run_chat(R"("logprobs":true,"stop":"beta")", steps(ids, FinishReason::kLength));
  std::string bytes;
  for (const json::Value& entry :
       answer.body.at("choices").at(0).at("logprobs").at("content").get_array()) {
    for (const json::Value& byte : entry.at("bytes").get_array()) {
      bytes.push_back(static_cast<char>(byte.to_number<int>()));
    }
  }
  EXPECT_TRUE(bytes.starts_with(whole_text(answer))) << bytes;
  EXPECT_EQ(bytes.find("gamma"), std::string::npos);
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

TEST_F(GenerationSessionTest, CompletionsHaveTextOffsetsAndEcho) {
  const auto prepared =
      service_.completion(R"({"prompt":"Grüße","echo":true,"logprobs":1,"max_tokens":9})");
  ASSERT_TRUE(prepared);
  const std::vector<int32_t> prompt = prepared->job.requests[0].prompt_token_ids;
  auto outputs = steps(encode(" you"), FinishReason::kLength);
  for (size_t i = 0; i < prompt.size(); ++i) {
    outputs[0].prompt_logprobs.push_back(
        i == 0 ? std::nullopt
               : std::optional<TokenLogprob>({prompt[i], -2.0F, {{prompt[i], -2.0F}}}));
  }
  const Answer answer = run(*prepared, outputs);
  EXPECT_EQ(streamed_text(answer), "Grüße you");
  EXPECT_EQ(whole_text(answer), "Grüße you");
  const json::Value& logprobs = answer.body.at("choices").at(0).at("logprobs");
  const json::Array& tokens = logprobs.at("tokens").get_array();
  EXPECT_EQ(tokens.size(), prompt.size() + outputs.size());
  EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
  EXPECT_EQ(logprobs.at("text_offset").at(0), 0);
  EXPECT_EQ(logprobs.at("text_offset").at(prompt.size()), 5);  // characters, not bytes
  EXPECT_EQ(answer.body.at("object"), "text_completion");
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
  std::string events;
  GenerationSession::append_stream_error(*answer.error, events);
  EXPECT_EQ(parse_events(events).at(0).at("error").at("message"), "non-finite logit");
  EXPECT_EQ(run_chat("", steps(encode("a"), FinishReason::kAbort)).error->code,
            ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace deltaserve
