// Byte-pair encoding of one pre-tokenized piece: the neighbouring pair of lowest rank, leftmost
// first, is merged until none is left (Sennrich et al. 2016, over bytes as in GPT-2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/merge_table.h"
#include "text/solid_characters.h"
#include "text/vocabulary.h"

namespace deltaserve {

// Buffers that a caller keeps between pieces, so that encoding a piece allocates nothing.
struct BpeScratch {
  struct Node {
    int32_t id = 0;
    uint32_t rank = 0;  // of merging with the next node
    size_t previous = 0;
    size_t next = 0;
  };
  std::vector<int32_t> ids;
  std::vector<uint32_t> ranks;
  std::vector<Node> nodes;
  std::vector<std::pair<uint32_t, size_t>> heap;  // rank, node
};

class Bpe {
 public:
  // With `ignore_merges` a piece that is in the vocabulary is that token whatever the rules say.
  // Errors: a byte that UTF-8 text can hold is not in the vocabulary.
  static Result<Bpe> create(Vocabulary vocabulary, const std::vector<MergeRule>& rules,
                            bool ignore_merges);

  // Appends the ids of `piece` (not empty, valid UTF-8). Time O(n log n) in its bytes.
  void encode(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& out) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  Bpe(Vocabulary vocabulary, const std::vector<MergeRule>& rules);

  void merge(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& out) const;
  void split(std::string_view piece, std::vector<int32_t>& ids) const;
  size_t merge_by_scan(BpeScratch& scratch) const;
  void merge_by_heap(BpeScratch& scratch, std::vector<int32_t>& out) const;
  Result<void> find_bytes();
  void mark_direct_tokens(bool ignore_merges);

  Vocabulary vocabulary_;
  MergeTable merges_;
  SolidCharacters solid_;
  std::array<int32_t, 256> byte_ids_{};
};

}  // namespace deltaserve
