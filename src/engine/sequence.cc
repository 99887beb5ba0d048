// State changes of a sequence; each checks that it comes from a state that allows it.
#include "engine/sequence.h"

#include <utility>

#include "base/check.h"

namespace deltaserve {

Sequence::Sequence(RequestState& owner, int32_t index, uint64_t arrival, BlockPool& blocks,
                   int32_t vocab_size)
    : owner_(&owner),
      index_(index),
      arrival_(arrival),
      table_(blocks),
      sampler_(owner.request, index, vocab_size) {}

int32_t Sequence::token(int64_t i) const {
  DS_CHECK(i >= 0 && i < num_tokens());
  return i < prompt_len() ? request().prompt_token_ids[static_cast<size_t>(i)]
                          : output_[static_cast<size_t>(i - prompt_len())];
}

std::array<int32_t, 3> Sequence::position(int64_t i) const {
  const auto p = static_cast<int32_t>(i);
  return {p, p, p};
}

void Sequence::admit(StateSlot slot) {
  DS_CHECK(status_ == SequenceStatus::kWaiting || status_ == SequenceStatus::kPreempted);
  slot_.emplace(std::move(slot));
  status_ = SequenceStatus::kRunning;
}

void Sequence::preempt() {
  DS_CHECK(status_ == SequenceStatus::kRunning);
  release();
  num_computed_ = 0;
  status_ = SequenceStatus::kPreempted;
}

void Sequence::finish() {
  DS_CHECK(status_ != SequenceStatus::kFinished);
  release();
  status_ = SequenceStatus::kFinished;
}

void Sequence::mark_computed(int64_t num_new_tokens) {
  DS_CHECK(status_ == SequenceStatus::kRunning);
  num_computed_ += num_new_tokens;
  DS_CHECK(num_computed_ <= num_tokens());
}

void Sequence::append(int32_t token) {
  DS_CHECK(num_computed_ == num_tokens(), "a token is drawn after all before it are computed");
  output_.push_back(token);
  sampler_.record(token);
}

void Sequence::release() {
  table_.clear();
  slot_.reset();
}

}  // namespace deltaserve
