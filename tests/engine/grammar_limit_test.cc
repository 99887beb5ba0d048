// A sequence on a grammar: what may come, from when on, and when it is over.
#include "engine/grammar_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/sampler_state.h"
#include "grammar/grammar_spec.h"

namespace deltaserve {
namespace {

// Token i is the byte i; 256 ends an answer, 257 closes a thought.
constexpr int32_t kEnd = 256;
constexpr int32_t kThinkClose = 257;
constexpr int32_t kVocab = 258;

std::shared_ptr<const GrammarVocabulary> byte_vocabulary() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  tokens.resize(kVocab);
  return std::make_shared<GrammarVocabulary>(std::move(tokens), std::vector{kEnd});
}

std::shared_ptr<Grammar> choice(std::vector<std::string> choices) {
  return compile_grammar(ChoiceSpec{std::move(choices)}, byte_vocabulary()).value();
}

Request request_with(std::shared_ptr<Grammar> grammar, std::optional<int32_t> after) {
  Request request;
  request.prompt_token_ids = {1};
  request.sampling.max_tokens = 100;
  request.sampling.seed = 1;
  request.eos_token_ids = {kEnd};
  request.sampling.grammar = GrammarRule{std::move(grammar), after};
  return request;
}

std::vector<int32_t> allowed(SamplerState& state) {
  if (GrammarLimit* mask = state.unmade_mask()) mask->make_mask();
  const SamplingRow row = state.next_row();
  std::vector<int32_t> tokens;
  for (int32_t token = 0; token < kVocab; ++token) {
    if ((row.allowed[token / 64] >> (token % 64) & 1) != 0) tokens.push_back(token);
  }
  return tokens;
}

std::vector<int32_t> banned(const SamplingRow& row) {
  return {row.banned, row.banned + row.num_banned};
}

TEST(GrammarLimit, AllowsWhatMayComeNext) {
  const Request request = request_with(choice({"ab", "abc", "x"}), std::nullopt);
  SamplerState state(request, 0, kVocab);
  EXPECT_EQ(allowed(state), (std::vector<int32_t>{'a', 'x'}));
  state.record('a');
  EXPECT_EQ(allowed(state), (std::vector<int32_t>{'b'}));
  EXPECT_FALSE(state.finish_after('a'));
  state.record('b');
  EXPECT_EQ(allowed(state), (std::vector<int32_t>{'c', kEnd}));
  EXPECT_FALSE(state.finish_after('b'));
  state.record('c');
  EXPECT_EQ(state.finish_after('c'), FinishReason::kStop) << "nothing may follow";
  EXPECT_FALSE(state.is_stop_token('c')) << "its text is part of the answer";
}

TEST(GrammarLimit, WaitsForTheThoughtAndKeepsTheAnswerOpen) {
  const Request request = request_with(choice({"ab"}), kThinkClose);
  SamplerState state(request, 0, kVocab);
  EXPECT_EQ(state.next_row().allowed, nullptr);
  EXPECT_EQ(banned(state.next_row()), (std::vector<int32_t>{kEnd}));
  state.record('z');
  EXPECT_EQ(state.next_row().allowed, nullptr);
  state.record(kThinkClose);
  EXPECT_EQ(allowed(state), (std::vector<int32_t>{'a'}));
  EXPECT_TRUE(banned(state.next_row()).empty());
}

TEST(GrammarLimit, EveryChoiceHasItsOwnPlace) {
  const Request request = request_with(choice({"ab", "cd"}), std::nullopt);
  SamplerState first(request, 0, kVocab);
  SamplerState second(request, 1, kVocab);
  first.record('a');
  second.record('c');
  EXPECT_EQ(allowed(first), (std::vector<int32_t>{'b'}));
  EXPECT_EQ(allowed(second), (std::vector<int32_t>{'d'}));
}

TEST(GrammarLimit, AThinkingBudgetForcesItsTokensFirst) {
  Request request = request_with(choice({"ab"}), kThinkClose);
  request.sampling.thinking_budget = ThinkingBudget{1, true, 300, kThinkClose, {kThinkClose}};
  SamplerState state(request, 0, kVocab);
  state.record('z');
  EXPECT_EQ(allowed(state), (std::vector<int32_t>{kThinkClose}));
  state.record(kThinkClose);
  EXPECT_EQ(allowed(state), (std::vector<int32_t>{'a'}));
}

TEST(GrammarLimit, MinTokensCannotLeaveItWithoutAToken) {
  Request request = request_with(choice({"a"}), std::nullopt);
  request.sampling.min_tokens = 5;
  SamplerState state(request, 0, kVocab);
  state.record('a');
  EXPECT_EQ(state.finish_after('a'), FinishReason::kStop);
}

TEST(GrammarLimit, MinTokensEndWhereOnlyTheEndIsLeft) {
  const json::Value schema =
      json::parse(R"({"type":"integer","multipleOf":2,"minimum":4,"maximum":4})").value();
  Request request = request_with(compile_grammar(JsonSchemaSpec{schema}, byte_vocabulary()).value(),
                                 std::nullopt);
  request.sampling.min_tokens = 5;
  SamplerState state(request, 0, kVocab);
  state.record('4');
  EXPECT_EQ(state.finish_after('4'), FinishReason::kStop);
}

TEST(GrammarLimit, SaysThatItOutgrew) {
  const GrammarRule rule{
      compile_grammar(RegexSpec{R"([\s\S]*a[\s\S]{1000})"}, byte_vocabulary()).value(),
      std::nullopt};
  GrammarLimit limit(rule);
  std::mt19937 random(3);
  for (int i = 0; i < 100'000 && !limit.outgrown(); ++i) {
    limit.record(random() % 2 == 0 ? 'a' : 'b');
    limit.make_mask();
  }
  EXPECT_TRUE(limit.outgrown());
  limit.make_mask();
  const auto words = static_cast<std::ptrdiff_t>(rule.grammar->vocabulary().num_words());
  EXPECT_TRUE(std::all_of(limit.mask(), limit.mask() + words, [](uint64_t w) { return w == 0; }));
}

// What a limit knows, as if made anew from `tokens`.
void expect_rebuilt(GrammarLimit& limit, const GrammarRule& rule,
                    const std::vector<int32_t>& tokens) {
  GrammarLimit rebuilt(rule);
  for (const int32_t token : tokens) rebuilt.record(token);
  ASSERT_EQ(limit.waits(), rebuilt.waits());
  ASSERT_EQ(limit.ended(), rebuilt.ended());
  if (limit.waits()) return;
  limit.make_mask();
  rebuilt.make_mask();
  const auto words = static_cast<std::ptrdiff_t>(rule.grammar->vocabulary().num_words());
  ASSERT_TRUE(std::equal(limit.mask(), limit.mask() + words, rebuilt.mask()));
}

class GrammarRollback : public testing::TestWithParam<std::optional<int32_t>> {};

TEST_P(GrammarRollback, EqualsRebuildingFromTheTokensThatAreLeft) {
  const auto schema = json::parse(
      R"({"type":"object","properties":{"a":{"type":"string","maxLength":3},"b":{"type":"array",
          "items":{"enum":[true,null]}}},"required":["b"]})");
  const GrammarRule rule{compile_grammar(JsonSchemaSpec{*schema}, byte_vocabulary()).value(),
                         GetParam()};
  std::mt19937 random(11);
  GrammarLimit limit(rule);
  std::vector<int32_t> tokens;
  int64_t num_dead = 0;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 3 == 0) {
      const size_t count = random() % (std::min<size_t>(tokens.size(), 6) + 1);
      limit.rollback(static_cast<int64_t>(count));
      tokens.resize(tokens.size() - count);
    } else {
      std::vector<int32_t> choices = {'x', kEnd, kThinkClose};  // drafts may break the grammar
      for (int32_t token = 0; token < kVocab && !limit.waits(); ++token) {
        if ((limit.mask()[token / 64] >> (token % 64) & 1) != 0) choices.push_back(token);
      }
      num_dead += choices.size() == 3 && !limit.waits() ? 1 : 0;
      tokens.push_back(choices[random() % choices.size()]);
      limit.record(tokens.back());
    }
    expect_rebuilt(limit, rule, tokens);
  }
  EXPECT_GT(num_dead, 10) << "states without a way on are met too";
}

INSTANTIATE_TEST_SUITE_P(Starts, GrammarRollback, testing::Values(std::nullopt, kThinkClose));

}  // namespace
}  // namespace deltaserve
