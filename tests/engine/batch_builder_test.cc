// The arrays of a batch, checked against what the plan says by hand.
#include "engine/batch_builder.h"

#include <gtest/gtest.h>

#include "engine/sequence.h"

namespace deltaserve {
namespace {

class BatchBuilderTest : public testing::Test {
 protected:
  std::unique_ptr<RequestState> make(std::vector<int32_t> prompt, int32_t prompt_logprobs = -1) {
    auto state = std::make_unique<RequestState>();
    state->request.prompt_token_ids = std::move(prompt);
    state->request.prompt_logprobs = prompt_logprobs;
    state->request.sampling.seed = 40;
    state->request.sampling.max_tokens = 100;
    state->choices.push_back(std::make_unique<Sequence>(*state, 0, 0, blocks_, 100));
    state->choices[0]->admit(slots_.acquire().value());
    return state;
  }

  BlockPool blocks_{16};
  StatePool slots_{4};
  StepInput input_;
};

TEST_F(BatchBuilderTest, PacksADecodeAndAPrompt) {
  const auto a = make({1, 2, 3});
  const auto b = make({11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28});
  Sequence& decode = *a->choices[0];
  Sequence& prompt = *b->choices[0];
  ASSERT_TRUE(decode.table().reserve_tokens(4));
  decode.mark_computed(3);
  decode.append(9);
  ASSERT_TRUE(prompt.table().reserve_tokens(18));
  StepPlan plan;
  plan.sequences = {
      {.sequence = &decode,
       .begin = 3,
       .num_scheduled_tokens = 1,
       .recurrent = true,
       .samples = true},
      {.sequence = &prompt, .num_scheduled_tokens = 18, .recurrent = false, .samples = true}};
  plan.num_tokens = 19;
  build_step_input(plan, input_);

  const Batch& batch = input_.batch;
  EXPECT_EQ(batch.num_tokens(), 19);
  EXPECT_EQ(batch.num_seqs(), 2);
  EXPECT_EQ(batch.input_ids[0], 9);
  EXPECT_EQ(batch.input_ids[1], 11);
  EXPECT_EQ(batch.input_ids[18], 28);
  for (size_t axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(batch.positions[axis * 19], 3);
    EXPECT_EQ(batch.positions[axis * 19 + 1], 0);
    EXPECT_EQ(batch.positions[axis * 19 + 18], 17);
  }
  EXPECT_EQ(batch.cu_seqlens, (std::vector<int32_t>{0, 1, 19}));
  EXPECT_EQ(batch.context_lens, (std::vector<int32_t>{3, 0}));
  EXPECT_EQ(batch.recurrent, (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(batch.state_slots, (std::vector<int32_t>{decode.slot()->id(), prompt.slot()->id()}));
  EXPECT_EQ(batch.logits_rows, (std::vector<int32_t>{0, 18}));

  ASSERT_EQ(batch.max_blocks_per_seq, 2);
  const int32_t d0 = decode.table().blocks()[0];
  const int32_t p0 = prompt.table().blocks()[0];
  const int32_t p1 = prompt.table().blocks()[1];
  EXPECT_EQ(batch.block_tables, (std::vector<int32_t>{d0, 0, p0, p1}));
  EXPECT_EQ(batch.slot_mapping[0], d0 * kBlockSize + 3);
  EXPECT_EQ(batch.slot_mapping[1], p0 * kBlockSize);
  EXPECT_EQ(batch.slot_mapping[16], p0 * kBlockSize + 15);
  EXPECT_EQ(batch.slot_mapping[17], p1 * kBlockSize);

  ASSERT_EQ(input_.rows.size(), 2U);
  EXPECT_EQ(input_.rows[0].position, 1);
  EXPECT_EQ(input_.rows[1].position, 0);
  EXPECT_EQ(input_.rows[1].seed, 40U);
}

TEST_F(BatchBuilderTest, PromptLogprobsForceTheNextPromptToken) {
  const auto state = make({31, 32, 33, 34}, 2);
  Sequence& sequence = *state->choices[0];
  ASSERT_TRUE(sequence.table().reserve_tokens(4));
  StepPlan plan;
  plan.sequences = {{.sequence = &sequence,
                     .num_scheduled_tokens = 4,
                     .recurrent = false,
                     .samples = true,
                     .num_prompt_logprobs = 2,
                     .first_prompt_logprob = 1}};
  plan.num_tokens = 4;
  build_step_input(plan, input_);
  EXPECT_EQ(input_.batch.logits_rows, (std::vector<int32_t>{1, 2, 3}));
  ASSERT_EQ(input_.rows.size(), 3U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(input_.rows[i].temperature, 0.0F);
    ASSERT_EQ(input_.rows[i].num_logit_bias, 1);
    EXPECT_EQ(input_.rows[i].logit_bias->token, 33 + static_cast<int32_t>(i));
    EXPECT_EQ(input_.rows[i].num_logprobs, 2);
  }
  EXPECT_EQ(input_.rows[2].temperature, 1.0F);
}

TEST_F(BatchBuilderTest, LeavesNothingOfTheStepBefore) {
  const auto a = make({1, 2, 3});
  Sequence& sequence = *a->choices[0];
  ASSERT_TRUE(sequence.table().reserve_tokens(3));
  StepPlan plan;
  plan.sequences = {{.sequence = &sequence, .num_scheduled_tokens = 3, .samples = true}};
  plan.num_tokens = 3;
  build_step_input(plan, input_);
  const Batch first = input_.batch;
  build_step_input(plan, input_);
  EXPECT_EQ(input_.batch.input_ids, first.input_ids);
  EXPECT_EQ(input_.batch.cu_seqlens, first.cu_seqlens);
  EXPECT_EQ(input_.batch.logits_rows, first.logits_rows);
  EXPECT_EQ(input_.rows.size(), 1U);
}

// The token at index 4 is drawn by row 2 of the step before, which computes index 3.
TEST_F(BatchBuilderTest, TakesATokenThatIsNotKnownYetFromItsDraw) {
  const auto state = make({1, 2, 3});
  Sequence& sequence = *state->choices[0];
  ASSERT_TRUE(sequence.table().reserve_tokens(5));
  sequence.mark_computed(3);
  sequence.append(9);
  StepPlan plan;
  plan.sequences = {{.sequence = &sequence,
                     .begin = 4,
                     .num_scheduled_tokens = 1,
                     .recurrent = true,
                     .samples = true,
                     .drawn_row = 2}};
  plan.num_tokens = 1;
  build_step_input(plan, input_);
  const Batch& batch = input_.batch;
  EXPECT_EQ(batch.input_ids, (std::vector<int32_t>{0}));
  EXPECT_EQ(batch.drawn_rows, (std::vector<int32_t>{2}));
  EXPECT_EQ(batch.positions, (std::vector<int32_t>{4, 4, 4}));
  EXPECT_EQ(batch.context_lens, (std::vector<int32_t>{4}));
  EXPECT_EQ(batch.slot_mapping[0], sequence.table().slot_of(4));
  ASSERT_EQ(input_.rows.size(), 1U);
  EXPECT_EQ(input_.rows[0].position, 2);
}

}  // namespace
}  // namespace deltaserve
