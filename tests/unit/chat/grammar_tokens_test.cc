// The tokenizer's vocabulary as grammars see it.
#include "chat/grammar_tokens.h"

#include <gtest/gtest.h>

#include "chat/output_control.h"

namespace deltaserve {
namespace {

class GrammarTokens : public testing::Test {
 protected:
  GrammarTokens() : tokenizer_(Tokenizer::load(DELTASERVE_SOURCE_DIR "/models/tiny")) {}

  int32_t id_of(std::string_view literal) const { return *(*tokenizer_)->token_to_id(literal); }

  Result<std::unique_ptr<Tokenizer>> tokenizer_;
};

TEST_F(GrammarTokens, OnlyTheTagsHaveControlBytes) {
  ASSERT_TRUE(tokenizer_) << tokenizer_.error().message;
  const auto vocabulary = make_grammar_vocabulary(**tokenizer_, {id_of("<|im_end|>")});
  int32_t num_control = 0;
  for (int32_t id = 0; id < static_cast<int32_t>(vocabulary->size()); ++id) {
    for (const char c : vocabulary->bytes(id)) num_control += control::is_never_text(c) ? 1 : 0;
  }
  EXPECT_EQ(num_control, 2);
  EXPECT_EQ(vocabulary->bytes(id_of("<tool_call>")), std::string(1, control::kToolCallOpen));
  EXPECT_EQ(vocabulary->bytes(id_of("</tool_call>")), std::string(1, control::kToolCallClose));
}

TEST_F(GrammarTokens, AForcedTagIsTheTagsToken) {
  ASSERT_TRUE(tokenizer_) << tokenizer_.error().message;
  const auto vocabulary = make_grammar_vocabulary(**tokenizer_, {id_of("<|im_end|>")});
  const std::string open(1, control::kToolCallOpen);
  const std::string close(1, control::kToolCallClose);
  EXPECT_EQ(vocabulary->canonical_token({}, {open + "\n<function=", false}), id_of("<tool_call>"));
  EXPECT_EQ(vocabulary->canonical_token({}, {close, true}), id_of("</tool_call>"));
}

}  // namespace
}  // namespace deltaserve
