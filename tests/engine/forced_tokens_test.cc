// Tokens that a grammar forces: which they are, and that an answer is the same whether they are
// drawn or appended.
#include <algorithm>
#include <string>

#include "fake_engine.h"
#include "grammar/grammar_spec.h"

namespace deltaserve {
namespace {

constexpr int32_t kEnd = 0;

std::vector<std::string> vocabulary_tokens() {
  std::vector<std::string> tokens = {""};
  for (const char c : std::string_view("abcdefgh-0123456789")) tokens.emplace_back(1, c);
  for (const char* word : {"ab", "abc", "de", "fgh", "h-", "5a", "\xF8"}) tokens.emplace_back(word);
  tokens.resize(kFakeVocab);
  return tokens;
}

int32_t id_of(std::string_view token) {
  const std::vector<std::string> tokens = vocabulary_tokens();
  return static_cast<int32_t>(std::ranges::find(tokens, token) - tokens.begin());
}

// Always the longest token that fits.
std::vector<int32_t> encode(std::string_view text) {
  static const std::vector<std::string> tokens = vocabulary_tokens();
  std::vector<int32_t> ids;
  while (!text.empty()) {
    size_t best = 0;
    for (size_t id = 1; id < tokens.size(); ++id) {
      const bool fits = !tokens[id].empty() && text.starts_with(tokens[id]);
      if (fits && tokens[id].size() > tokens[best].size()) best = id;
    }
    ids.push_back(static_cast<int32_t>(best));
    text.remove_prefix(std::max<size_t>(1, tokens[best].size()));
  }
  return ids;
}

std::shared_ptr<Grammar> regex(const std::string& pattern) {
  const auto vocabulary =
      std::make_shared<GrammarVocabulary>(vocabulary_tokens(), std::vector{kEnd}, encode);
  return compile_grammar(RegexSpec{pattern}, vocabulary).value();
}

std::vector<std::string> forced_after(const GrammarRule& rule,
                                      std::initializer_list<std::string_view> tokens) {
  GrammarLimit limit(rule);
  for (const std::string_view token : tokens) limit.record(id_of(token));
  std::vector<std::string> forced;
  while (limit.forced()) {
    forced.push_back(vocabulary_tokens()[static_cast<size_t>(*limit.forced())]);
    limit.record(*limit.forced());
  }
  return forced;
}

using Texts = std::vector<std::string>;

TEST(ForcedTokens, AreCutAsTheTokenizerCutsThem) {
  const GrammarRule rule{regex("[0-9]abcdefgh"), std::nullopt};
  EXPECT_EQ(forced_after(rule, {}), Texts{}) << "a digit is free";
  EXPECT_EQ(forced_after(rule, {"1"}), (Texts{"abc", "de", "fgh"}));
  EXPECT_EQ(forced_after(rule, {"5"}), Texts{}) << "the tokenizer would have cut '5a' off";
  EXPECT_EQ(forced_after(rule, {"5a"}), (Texts{"b", "c", "de", "fgh"}));
  EXPECT_EQ(forced_after(rule, {"1", "a"}), Texts{}) << "it would have cut 'abc' off";
}

TEST(ForcedTokens, LeaveTheLastTokenWhereTheNextTextMayJoinIt) {
  const GrammarRule rule{regex("abcde(fgh|f0)"), std::nullopt};
  EXPECT_EQ(forced_after(rule, {}), (Texts{"abc", "de"})) << "'f' may become 'fgh'";
}

TEST(ForcedTokens, NothingJoinsAControlToken) {
  ExprPool pool;
  const ExprId root = pool.concat(pool.literal("abcde\xF8"), pool.literal("fgh"));
  const auto vocabulary =
      std::make_shared<GrammarVocabulary>(vocabulary_tokens(), std::vector{kEnd}, encode);
  const GrammarRule rule{Grammar::make(std::move(pool), root, vocabulary).value(), std::nullopt};
  EXPECT_EQ(forced_after(rule, {}), (Texts{"abc", "de", "\xF8", "fgh"}));
}

TEST(ForcedTokens, AreTheOnlyOnesInTheMask) {
  const GrammarRule rule{regex("abcdefgh"), std::nullopt};
  GrammarLimit limit(rule);
  limit.make_mask();
  EXPECT_EQ(*limit.mask(), uint64_t{1} << id_of("abc"));
  GrammarLimit free(rule, false);
  free.make_mask();
  EXPECT_EQ(*free.mask(),
            uint64_t{1} << id_of("a") | uint64_t{1} << id_of("ab") | uint64_t{1} << id_of("abc"));
  EXPECT_FALSE(free.forced());
}

Request make(uint64_t id, const std::shared_ptr<Grammar>& grammar, bool logprobs) {
  Request request = make_request(20 + static_cast<int64_t>(id), 70, id);
  request.sampling.n = id % 3 == 0 ? 2 : 1;
  request.sampling.num_logprobs = logprobs ? 0 : -1;
  request.eos_token_ids = {kEnd};
  request.sampling.grammar = GrammarRule{grammar, std::nullopt};
  return request;
}

// Few blocks, so that sequences are preempted and replay what was forced; prompts come in between.
TEST(ForcedTokens, GiveTheAnswerThatDrawingGives) {
  const auto grammar = regex("([0-9]{2}abcdefgh){2,}");
  FakeEngine engine({.num_blocks = 9, .max_num_seqs = 4, .max_num_batched_tokens = 70});
  for (uint64_t id = 0; id < 10; ++id) engine.core.add(id, make(id, grammar, false));
  engine.run();
  int64_t num_tokens = 0;
  for (uint64_t id = 0; id < 10; ++id) {
    RequestRecord drawn = run_alone(make(id, grammar, true));
    for (const auto& [index, choice] : engine.recorder.records.at(id).choices) {
      EXPECT_EQ(choice.tokens, drawn.choices[index].tokens);
      EXPECT_EQ(choice.reason, drawn.choices[index].reason);
      num_tokens += std::ssize(choice.tokens);
    }
  }
  EXPECT_EQ(engine.core.stats().generation_tokens, num_tokens);
  EXPECT_GT(engine.core.stats().num_preemptions, 0);
}

TEST(ForcedTokens, SaveSteps) {
  const auto grammar = regex("([0-9]{2}abcdefgh){2,}");
  const auto steps_of = [&](bool logprobs) {
    FakeEngine engine({});
    engine.core.add(1, make(1, grammar, logprobs));
    engine.run();
    return engine.core.stats().num_steps;
  };
  EXPECT_LT(steps_of(false) * 4, steps_of(true) * 3);
}

TEST(ForcedTokens, NeverCountAgainstABan) {
  Request request = make(1, regex("[0-9]abcdefgh"), false);
  request.sampling.stop_token_ids = {id_of("abc")};
  SamplerState state(request, 0, kFakeVocab);
  state.record(id_of("1"));
  EXPECT_FALSE(state.forced_token());
}

}  // namespace
}  // namespace deltaserve
