// Masks made beside a step are those made alone, and answers of a whole engine keep to them.
#include "engine/mask_filler.h"

#include <random>
#include <string>

#include "fake_engine.h"
#include "grammar/grammar_spec.h"

namespace deltaserve {
namespace {

constexpr int32_t kEnd = 0;

// Token i is the letter i - 1 of a short alphabet, then there are tokens of no text.
std::shared_ptr<const GrammarVocabulary> make_vocabulary() {
  std::vector<std::string> tokens = {""};
  for (const char c : std::string_view("abcdefghij-0123456789")) tokens.emplace_back(1, c);
  tokens.resize(kFakeVocab);
  return std::make_shared<GrammarVocabulary>(std::move(tokens), std::vector{kEnd});
}

std::shared_ptr<Grammar> regex(const std::string& pattern) {
  return compile_grammar(RegexSpec{pattern}, make_vocabulary()).value();
}

class MaskFillerThreads : public testing::TestWithParam<int32_t> {};

TEST_P(MaskFillerThreads, MakesWhatIsMadeAlone) {
  const GrammarRule first{regex("[a-f]{2,9}-[0-9]+"), std::nullopt};
  const GrammarRule second{regex("(ab|cd)*[0-4]"), std::nullopt};
  std::mt19937 random(5);
  MaskFiller filler(GetParam());
  for (int round = 0; round < 200; ++round) {
    std::vector<GrammarLimit> limits;
    std::vector<GrammarLimit> alone;
    for (size_t i = 0; i < 9; ++i) {
      const GrammarRule& rule = i % 2 == 0 ? first : second;
      limits.emplace_back(rule);
      for (size_t k = random() % 6; k > 0; --k) {
        limits.back().record(static_cast<int32_t>(1 + random() % 6));
      }
    }
    alone = limits;
    std::vector<GrammarLimit*> work;
    for (GrammarLimit& limit : limits) work.push_back(&limit);
    filler.start(work);
    filler.wait();
    for (size_t i = 0; i < limits.size(); ++i) {
      EXPECT_FALSE(limits[i].needs_mask());
      alone[i].make_mask();
      EXPECT_EQ(*limits[i].mask(), *alone[i].mask());
    }
  }
}

TEST_P(MaskFillerThreads, WaitsForNothing) {
  MaskFiller filler(GetParam());
  filler.wait();
  filler.start({});
  filler.wait();
  SUCCEED();
}

INSTANTIATE_TEST_SUITE_P(Threads, MaskFillerThreads, testing::Values(0, 1, 4));

// Few blocks, so that sequences are preempted and come back; choices fork; a request is aborted.
TEST(MaskFillerEngine, AnswersKeepToTheirGrammarsAndAreThoseOfARequestAlone) {
  FakeEngine engine({.num_blocks = 9, .max_num_seqs = 4});
  const auto grammar = regex("[a-f]{3}(-[0-9]{2}){4,}");
  std::vector<Request> requests;
  for (uint64_t id = 0; id < 12; ++id) {
    Request request = make_request(20 + static_cast<int64_t>(id), 60, id);
    request.sampling.n = id % 3 == 0 ? 2 : 1;
    request.eos_token_ids = {kEnd};
    request.sampling.grammar = GrammarRule{grammar, std::nullopt};
    engine.core.add(id, request);
    requests.push_back(std::move(request));
  }
  for (int step = 0; engine.core.has_work(); ++step) {
    ASSERT_LT(step, 5000);
    if (step == 10) engine.core.abort(7);
    engine.step();
  }
  int64_t num_ended = 0;
  for (uint64_t id = 0; id < 12; ++id) {
    if (id == 7) continue;
    RequestRecord alone = run_alone(requests[id]);
    for (const auto& [index, choice] : engine.recorder.records.at(id).choices) {
      EXPECT_EQ(choice.tokens, alone.choices[index].tokens);
      Grammar::State state = grammar->start();
      for (const int32_t token : choice.tokens) {
        state = grammar->advance(state, token);
        ASSERT_NE(state, Grammar::kDead);
      }
      if (choice.reason != FinishReason::kStop) continue;
      EXPECT_TRUE(grammar->may_end(state));
      ++num_ended;
    }
  }
  EXPECT_GE(num_ended, 5);
  EXPECT_GT(engine.core.stats().num_preemptions, 0);
}

}  // namespace
}  // namespace deltaserve
