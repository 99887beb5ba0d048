// Masks are kept by state: what a schema asks for comes again with every item and every request.
#include "grammar/grammar.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace deltaserve {
namespace {

// A mask of a 248k vocabulary is 31 KB: a thousand states.
constexpr size_t kMaxMaskBytes = size_t{32} << 20;
// A few tokens: more are found when those have come.
constexpr size_t kMaxForcedBytes = 64;
constexpr size_t kMaxForcedTexts = 16'384;

}  // namespace

Result<std::shared_ptr<Grammar>> Grammar::make(
    ExprPool pool, ExprId root, std::shared_ptr<const GrammarVocabulary> vocabulary) {
  const Result<ExprId> start = pool.close(root);
  if (!start) {
    return std::unexpected(start.error());
  }
  return std::shared_ptr<Grammar>(
      new Grammar(Automaton(std::move(pool), *start), std::move(vocabulary)));
}

Grammar::State Grammar::advance(State state, int32_t token) {
  const std::lock_guard lock(mutex_);
  if (token < 0 || static_cast<size_t>(token) >= vocabulary_->size()) {
    return kDead;
  }
  if (vocabulary_->is_end(token)) {
    return automaton_.accepting(state) ? state : kDead;
  }
  const std::string& bytes = vocabulary_->bytes(token);
  automaton_.begin_work();
  return bytes.empty() ? kDead : automaton_.step(state, bytes);
}

const std::vector<uint64_t>& Grammar::mask_of(State state) {
  if (const auto known = masks_.find(state); known != masks_.end()) {
    return known->second;
  }
  automaton_.trim();
  automaton_.begin_work();
  std::vector<uint64_t> bits(vocabulary_->num_words(), 0);
  vocabulary_->add_allowed(automaton_, state, bits);
  if (automaton_.accepting(state)) {
    for (const int32_t id : vocabulary_->end_ids()) {
      bits[static_cast<size_t>(id) >> 6] |= uint64_t{1} << (id & 63);
    }
  }
  if ((masks_.size() + 1) * bits.size() * sizeof(uint64_t) > kMaxMaskBytes) {
    masks_.clear();
  }
  return masks_.emplace(state, std::move(bits)).first->second;
}

void Grammar::fill_mask(State state, std::span<uint64_t> bits) {
  DS_CHECK(state != kDead, "a mask of a dead state");
  const std::lock_guard lock(mutex_);
  std::ranges::copy(mask_of(state), bits.begin());
  measure();
}

void Grammar::measure() {
  num_states_ = automaton_.num_states();
  memory_ = automaton_.memory() + masks_.size() * vocabulary_->num_words() * sizeof(uint64_t);
}

ForcedText Grammar::forced_text(State state) {
  DS_CHECK(state != kDead, "what follows on a dead state");
  const std::lock_guard lock(mutex_);
  if (const auto known = forced_.find(state); known != forced_.end()) {
    return known->second;
  }
  automaton_.trim();
  automaton_.begin_work();
  ForcedText text;
  State at = state;
  while (text.bytes.size() < kMaxForcedBytes && !automaton_.accepting(at)) {
    const std::optional<uint8_t> byte = automaton_.only_byte(at);
    if (!byte) break;
    text.bytes += static_cast<char>(*byte);
    at = automaton_.step(at, *byte);
  }
  text.is_rest = automaton_.ended(at);
  if (!text.bytes.empty()) {
    if (forced_.size() >= kMaxForcedTexts) forced_.clear();
    forced_.emplace(state, text);
  }
  return text;
}

bool Grammar::may_end(State state) const {
  const std::lock_guard lock(mutex_);
  return automaton_.accepting(state);
}

bool Grammar::must_end(State state) {
  const std::lock_guard lock(mutex_);
  automaton_.begin_work();
  return automaton_.ended(state);
}

}  // namespace deltaserve
