// What a request gets back, case by case, over a model made of hashes.
#include "engine/engine_core.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "fake_engine.h"

namespace deltaserve {
namespace {

TEST(EngineCore, GivesExactlyMaxTokens) {
  FakeEngine engine({});
  engine.core.add(1, make_request(100, 17));
  engine.run();
  const RequestRecord& record = engine.recorder.records.at(1);
  EXPECT_TRUE(record.finished);
  EXPECT_EQ(record.num_prompt_tokens, 100);
  EXPECT_EQ(record.choices.at(0).tokens.size(), 17U);
  EXPECT_EQ(record.choices.at(0).reason, FinishReason::kLength);
  const EngineStats stats = engine.core.stats();
  EXPECT_EQ(stats.prompt_tokens, 100);
  EXPECT_EQ(stats.generation_tokens, 17);
  EXPECT_EQ(stats.requests_length, 1);
  EXPECT_EQ(stats.kv_cache_usage, 0.0);
}

TEST(EngineCore, TellsWhenARequestCameHowFar) {
  FakeEngine engine({.max_num_seqs = 1});
  const auto submitted = RequestTimes::Clock::now() - std::chrono::seconds(1);
  engine.core.add(1, make_request(100, 2), submitted);
  engine.core.add(2, make_request(100, 2));
  engine.core.step();
  std::vector<RequestOutput> outputs = engine.core.take_outputs();
  ASSERT_EQ(outputs.size(), 1U);
  const RequestTimes first = outputs[0].times;
  EXPECT_EQ(first.submitted, submitted);
  EXPECT_GT(first.scheduled, submitted);
  EXPECT_GE(first.first_token, first.scheduled);
  engine.core.abort(2);
  outputs = engine.core.take_outputs();
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].times.scheduled, RequestTimes::Clock::time_point());
  EXPECT_EQ(outputs[0].times.first_token, RequestTimes::Clock::time_point());
  engine.core.step();
  outputs = engine.core.take_outputs();
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].times.scheduled, first.scheduled);
  EXPECT_EQ(outputs[0].times.first_token, first.first_token);
}

TEST(EngineCore, StopsAtEosAndAtStopTokensAndReportsThem) {
  const RequestRecord whole = run_alone(make_request(20, 30));
  const std::vector<int32_t>& tokens = whole.choices.at(0).tokens;
  const int32_t stop = tokens[10];
  const auto first = std::ranges::find(tokens, stop) - tokens.begin();
  Request by_eos = make_request(20, 30);
  by_eos.eos_token_ids = {stop};
  Request by_stop_token = make_request(20, 30);
  by_stop_token.sampling.stop_token_ids = {stop};
  for (const Request& request : {by_eos, by_stop_token}) {
    const ChoiceRecord choice = run_alone(request).choices.at(0);
    EXPECT_EQ(choice.reason, FinishReason::kStop);
    EXPECT_EQ(choice.stop_token, stop);
    EXPECT_EQ(static_cast<std::ptrdiff_t>(choice.tokens.size()), first + 1);
  }
  by_eos.sampling.ignore_eos = true;
  EXPECT_EQ(run_alone(by_eos).choices.at(0).tokens, tokens);
}

TEST(EngineCore, MinTokensHoldsStopTokensBack) {
  Request request = make_request(20, 30);
  for (int32_t token = 1; token < kFakeVocab; ++token) request.eos_token_ids.push_back(token);
  request.sampling.min_tokens = 6;
  const ChoiceRecord choice = run_alone(request).choices.at(0);
  EXPECT_GE(choice.tokens.size(), 7U);
  EXPECT_EQ(std::vector<int32_t>(choice.tokens.begin(), choice.tokens.begin() + 6),
            std::vector<int32_t>(6, 0));
}

TEST(EngineCore, SameSeedSameTextAndEachChoiceItsOwn) {
  Request request = make_request(30, 20, 5);
  request.sampling.n = 3;
  FakeEngine engine({});
  engine.core.add(1, request);
  engine.core.add(2, request);
  engine.run();
  const RequestRecord& a = engine.recorder.records.at(1);
  const RequestRecord& b = engine.recorder.records.at(2);
  for (int32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(a.choices.at(i).tokens, b.choices.at(i).tokens);
    Request single = request;
    single.sampling.n = 1;
    single.sampling.seed = 5 + static_cast<uint64_t>(i);
    EXPECT_EQ(a.choices.at(i).tokens, run_alone(single).choices.at(0).tokens);
  }
  EXPECT_NE(a.choices.at(0).tokens, a.choices.at(1).tokens);
  EXPECT_EQ(engine.core.stats().prompt_tokens, 60) << "once a request";
}

TEST(EngineCore, DrawsASeedForARequestWithoutOne) {
  Request request = make_request(30, 20);
  request.sampling.seed.reset();
  EXPECT_NE(run_alone(request).choices.at(0).tokens, run_alone(request).choices.at(0).tokens);
}

TEST(EngineCore, LogprobsComeWithTheirTokens) {
  Request request = make_request(10, 5);
  request.sampling.num_logprobs = 2;
  const ChoiceRecord choice = run_alone(request).choices.at(0);
  ASSERT_EQ(choice.logprobs.size(), 5U);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(choice.logprobs[i].token, choice.tokens[i]);
    EXPECT_EQ(choice.logprobs[i].top.size(), 2U);
  }
  EXPECT_TRUE(run_alone(make_request(10, 5)).choices.at(0).logprobs.empty());
}

TEST(EngineCore, PromptLogprobsCoverThePromptOnce) {
  for (const int64_t prompt_len : {1, 2, 64, 65, 200}) {
    Request request = make_request(prompt_len, 3);
    request.prompt_logprobs = 1;
    request.sampling.n = 2;
    FakeEngine engine({});
    engine.core.add(1, request);
    engine.run();
    const auto& logprobs = engine.recorder.records.at(1).prompt_logprobs;
    ASSERT_EQ(static_cast<int64_t>(logprobs.size()), prompt_len);
    EXPECT_FALSE(logprobs[0].has_value());
    for (size_t i = 1; i < logprobs.size(); ++i) {
      EXPECT_EQ(logprobs[i].value().token, request.prompt_token_ids[i]);
      EXPECT_EQ(logprobs[i].value().top.size(), 1U);
    }
  }
}

TEST(EngineCore, AbortFreesEverythingAtOnceAndReportsItOnce) {
  FakeEngine engine({});
  Request request = make_request(30, 50);
  request.sampling.n = 2;
  engine.core.add(1, request);
  engine.step();
  engine.step();
  engine.core.abort(1);
  engine.core.abort(1);
  engine.core.abort(77);
  EXPECT_EQ(engine.core.snapshot().num_free_blocks, 64);
  EXPECT_EQ(engine.recorder.take(engine.core.take_outputs()), (std::vector<RequestId>{1}));
  EXPECT_EQ(engine.recorder.records.at(1).choices.at(1).reason, FinishReason::kAbort);
  EXPECT_FALSE(engine.core.has_work());
}

TEST(EngineCore, AbortingAChoiceLeavesTheOthers) {
  FakeEngine engine({});
  Request request = make_request(30, 20);
  request.sampling.n = 3;
  engine.core.add(1, request);
  engine.step();
  engine.core.abort_choice(1, 1);
  engine.core.abort_choice(1, 3);
  engine.core.abort_choice(1, -1);
  engine.core.abort_choice(2, 0);
  engine.run();
  const RequestRecord& record = engine.recorder.records.at(1);
  EXPECT_TRUE(record.finished);
  EXPECT_EQ(record.choices.at(0).reason, FinishReason::kLength);
  EXPECT_EQ(record.choices.at(1).reason, FinishReason::kAbort);
  EXPECT_EQ(record.choices.at(1).tokens.size(), 1U);
  EXPECT_EQ(record.choices.at(2).reason, FinishReason::kLength);
}

TEST(EngineCore, NonFiniteLogitsFailTheirRequestOnly) {
  // Find a request whose text meets a non-finite row part way.
  constexpr uint64_t kEvery = 50;
  uint64_t seed = 1;
  while (run_alone(make_request(20, 30, seed), kEvery).choices.at(0).tokens.size() < 3 ||
         !run_alone(make_request(20, 30, seed), kEvery).any(FinishReason::kError)) {
    ++seed;
  }
  uint64_t sound = 1;
  while (run_alone(make_request(20, 30, sound), kEvery).any(FinishReason::kError)) ++sound;
  FakeEngine engine({});
  engine.runner.non_finite_every = kEvery;
  engine.core.add(1, make_request(20, 30, seed));
  engine.core.add(2, make_request(20, 30, sound));
  engine.run();
  const ChoiceRecord& failed = engine.recorder.records.at(1).choices.at(0);
  ASSERT_EQ(failed.reason, FinishReason::kError);
  EXPECT_EQ(failed.error->code, ErrorCode::kInternal);
  EXPECT_NE(failed.error->message.find("non-finite logits"), std::string::npos);
  EXPECT_EQ(engine.recorder.records.at(2).choices.at(0).tokens,
            run_alone(make_request(20, 30, sound)).choices.at(0).tokens);
}

TEST(EngineCore, AFailingStepEndsExactlyItsRequests) {
  FakeEngine engine({.max_num_seqs = 2});
  for (RequestId id = 1; id <= 3; ++id) engine.core.add(id, make_request(20, 10, id));
  engine.step();
  engine.runner.on_sequence = [](const Batch&, int32_t sequence) {
    if (sequence == 1) throw std::runtime_error("device lost");
  };
  EXPECT_EQ(engine.step().size(), 2U);
  engine.runner.on_sequence = nullptr;
  EXPECT_EQ(engine.core.snapshot().num_free_blocks, 64);
  engine.run();
  for (const RequestId id : {RequestId{1}, RequestId{2}}) {
    const ChoiceRecord& choice = engine.recorder.records.at(id).choices.at(0);
    EXPECT_EQ(choice.reason, FinishReason::kError);
    EXPECT_EQ(choice.error->code, ErrorCode::kInternal);
    EXPECT_NE(choice.error->message.find("device lost"), std::string::npos);
    EXPECT_EQ(choice.tokens.size(), 1U) << "what came before stays";
  }
  EXPECT_EQ(engine.recorder.records.at(3).choices.at(0).tokens,
            run_alone(make_request(20, 10, 3)).choices.at(0).tokens);
}

TEST(EngineCore, AFailedChoiceEndsTheRequestsOtherChoices) {
  FakeEngine engine({.max_num_seqs = 1});
  Request request = make_request(20, 10);
  request.sampling.n = 2;
  engine.core.add(1, request);
  engine.runner.on_sequence = [](const Batch&, int32_t) { throw std::bad_alloc(); };
  engine.step();
  EXPECT_FALSE(engine.core.has_work());
  EXPECT_EQ(engine.recorder.records.at(1).choices.at(1).reason, FinishReason::kError);
}

TEST(EngineCore, AnythingThrownIsCaught) {
  FakeEngine engine({});
  engine.core.add(1, make_request(20, 10));
  engine.runner.on_sequence = [](const Batch&, int32_t) { throw 42; };
  engine.step();
  EXPECT_EQ(engine.recorder.records.at(1).choices.at(0).reason, FinishReason::kError);
}

TEST(EngineCore, WaitingRequestsOutliveManyFailingSteps) {
  FakeEngine engine({.max_num_seqs = 1});
  for (RequestId id = 1; id <= 20; ++id) engine.core.add(id, make_request(20, 10, id));
  int64_t runs = 0;
  engine.runner.on_sequence = [&runs](const Batch&, int32_t) {
    if (++runs <= 19) throw std::runtime_error("again");
  };
  engine.run();
  EXPECT_EQ(engine.core.stats().requests_error, 19);
  EXPECT_EQ(engine.recorder.records.at(20).choices.at(0).reason, FinishReason::kLength);
}

TEST(EngineCore, FailAllReportsToEveryone) {
  FakeEngine engine({.max_num_seqs = 1});
  engine.core.add(1, make_request(20, 10));
  engine.core.add(2, make_request(20, 10));
  engine.step();
  engine.core.fail_all({ErrorCode::kInternal, "gone", {}, {}});
  engine.recorder.take(engine.core.take_outputs());
  EXPECT_EQ(engine.recorder.records.at(1).choices.at(0).error->message, "gone");
  EXPECT_EQ(engine.recorder.records.at(2).choices.at(0).error->message, "gone");
  EXPECT_FALSE(engine.core.has_work());
}

}  // namespace
}  // namespace deltaserve
