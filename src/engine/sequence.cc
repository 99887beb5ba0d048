// State changes of a sequence; each checks that it comes from a state that allows it.
#include "engine/sequence.h"

#include <algorithm>
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
  return owner_->layout.position(i);
}

ChunkCode Sequence::chunk_code(int64_t chunk) const {
  const auto index = static_cast<size_t>(chunk);
  if (index < prefix_.inherited.size()) return prefix_.inherited[index];
  const int64_t in_chunks = prompt_len() - chunk * kChunkSize;
  if (in_chunks >= kChunkSize) return 0;
  return static_cast<ChunkCode>(1 + std::max<int64_t>(0, in_chunks));
}

bool Sequence::is_recurrent(int64_t i) const {
  const ChunkCode code = chunk_code(i / kChunkSize);
  return code != 0 && i % kChunkSize >= code - 1;
}

int64_t Sequence::same_way_until(int64_t i) const {
  const bool recurrent = is_recurrent(i);
  const auto inherited = static_cast<int64_t>(prefix_.inherited.size());
  while (i < inherited * kChunkSize && is_recurrent(i) == recurrent) {
    const int64_t chunk = i / kChunkSize;
    const ChunkCode code = chunk_code(chunk);
    i = recurrent || code == 0 ? (chunk + 1) * kChunkSize : chunk * kChunkSize + code - 1;
  }
  if (is_recurrent(i) != recurrent) return i;
  return recurrent ? num_tokens() : prompt_len();
}

void Sequence::resume_at(int64_t num_tokens) {
  DS_CHECK(status_ == SequenceStatus::kWaiting || status_ == SequenceStatus::kPreempted);
  DS_CHECK(table_.num_blocks() <= num_tokens / kBlockSize);
  num_computed_ = num_tokens;
}

void Sequence::admit(StateSlot slot) {
  DS_CHECK(status_ == SequenceStatus::kWaiting || status_ == SequenceStatus::kPreempted);
  slot_.emplace(std::move(slot));
  status_ = SequenceStatus::kRunning;
  prefix_.num_found = num_computed_;
  prefix_.held_for.reset();
  if (in_prompt() && owner_->prefilling == nullptr) owner_->prefilling = this;
}

bool Sequence::fork(Sequence& leader, StateSlot slot) {
  DS_CHECK(status_ == SequenceStatus::kWaiting || status_ == SequenceStatus::kPreempted);
  DS_CHECK(!has_output() && table_.num_blocks() == 0);
  table_.share(leader.table_.blocks().first(static_cast<size_t>(prompt_len() / kBlockSize)));
  if (!table_.reserve_tokens(prompt_len())) {
    table_.clear();
    return false;
  }
  slot_.emplace(std::move(slot));
  status_ = SequenceStatus::kRunning;
  prefix_.held_for.reset();
  return true;
}

void Sequence::finish_fork(const Sequence& leader, PrefixIndex* index) {
  mark_computed(prompt_len());
  // The leader may share older blocks of the same content by now.
  for (int64_t i = 0; i < prompt_len() / kBlockSize; ++i) {
    table_.replace(i, leader.table_.blocks()[static_cast<size_t>(i)]);
  }
  prefix_.hashes = leader.prefix_.hashes;
  const auto num_shared = static_cast<size_t>(prompt_len() / kChunkSize);
  if (prefix_.hashes.size() > num_shared) prefix_.hashes.resize(num_shared);
  prefix_.inherited = leader.prefix_.inherited;
  prefix_.detached = leader.prefix_.detached;
  if (leader.prefix_.pin.node() != nullptr) {
    prefix_.pin = PrefixPin(*index, *leader.prefix_.pin.node());
  }
}

void Sequence::preempt() {
  DS_CHECK(status_ == SequenceStatus::kRunning);
  num_lost_ = std::max(num_lost_, num_computed_);
  release();
  status_ = SequenceStatus::kPreempted;
}

void Sequence::finish() {
  DS_CHECK(status_ != SequenceStatus::kFinished);
  const int64_t num_computed = num_computed_;
  release();
  num_computed_ = num_computed;
  status_ = SequenceStatus::kFinished;
}

void Sequence::mark_computed(int64_t num_new_tokens) {
  DS_CHECK(status_ == SequenceStatus::kRunning);
  num_computed_ += num_new_tokens;
  DS_CHECK(num_computed_ <= num_tokens());
  if (owner_->prefilling == this && !in_prompt()) owner_->prefilling = nullptr;
  if (num_computed_ >= owner_->layout.vision_end()) pictures_ = {};
}

void Sequence::append(int32_t token) {
  DS_CHECK(num_computed_ == num_tokens(), "a token is drawn after all before it are computed");
  output_.push_back(token);
  sampler_.record(token);
}

void Sequence::append_forced(int32_t token) {
  DS_CHECK(num_computed_ < num_tokens(), "a forced token follows a drawn one");
  output_.push_back(token);
  sampler_.record(token);
}

void Sequence::release() {
  table_.clear();
  slot_.reset();
  num_computed_ = 0;
  pictures_ = {};
  if (owner_->prefilling == this) owner_->prefilling = nullptr;
  prefix_.pin.reset();
  prefix_.device_pin.reset();
  prefix_.detached = false;
  prefix_.num_known = 0;
  prefix_.num_found = 0;
  prefix_.partings.clear();
  prefix_.last_answer = nullptr;
}

}  // namespace deltaserve
