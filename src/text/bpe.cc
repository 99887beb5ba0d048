// See bpe.h. Short pieces are merged by scanning an array of ranks, long ones with a heap; both
// give the same result, as a merged token is longer than its parts and so never takes the place of
// an earlier candidate of the same rank.
#include "text/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace deltaserve {
namespace {

// Bytes up to which scanning is faster than the heap; measured with bench/text, flat from 64 to
// 256.
constexpr size_t kScanLimit = 128;

constexpr uint32_t kNoRank = MergeTable::kNoRank;

unsigned char byte_at(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Valid UTF-8 never holds 0xC0, 0xC1 or 0xF5 to 0xFF.
bool occurs_in_utf8(uint32_t byte) {
  return byte < 0xC0 || (byte >= 0xC2 && byte <= 0xF4);
}

}  // namespace

Bpe::Bpe(Vocabulary vocabulary, const std::vector<MergeRule>& rules)
    : vocabulary_(std::move(vocabulary)), merges_(rules) {}

Result<Bpe> Bpe::create(Vocabulary vocabulary, const std::vector<MergeRule>& rules,
                        bool ignore_merges) {
  Bpe bpe(std::move(vocabulary), rules);
  if (Result<void> found = bpe.find_bytes(); !found) return std::unexpected(found.error());
  bpe.mark_direct_tokens(ignore_merges);
  return bpe;
}

Result<void> Bpe::find_bytes() {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    byte_ids_[byte] = vocabulary_.find(std::string_view(&c, 1));
    if (byte_ids_[byte] == Vocabulary::kNoToken && occurs_in_utf8(byte)) {
      return invalid(fmt::format("the vocabulary has no token for the byte 0x{:02X}", byte),
                     "model.vocab");
    }
  }
  byte_pair_ranks_.reserve(byte_ids_.size() * byte_ids_.size());
  for (const int32_t left : byte_ids_) {
    for (const int32_t right : byte_ids_) byte_pair_ranks_.push_back(merges_.rank(left, right));
  }
  return {};
}

void Bpe::mark_direct_tokens(bool ignore_merges) {
  BpeScratch scratch;
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < vocabulary_.id_end(); ++id) {
    const std::string_view bytes = vocabulary_.bytes(id);
    if (bytes.empty() || vocabulary_.find(bytes) != id) continue;
    if (!ignore_merges) {
      ids.clear();
      merge(bytes, scratch, ids);
      if (ids.size() != 1 || ids.front() != id) continue;
    }
    vocabulary_.mark_direct(id);
  }
}

void Bpe::encode(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& out) const {
  const int32_t direct = vocabulary_.find_direct(piece);
  if (direct != Vocabulary::kNoToken) {
    out.push_back(direct);
  } else {
    merge(piece, scratch, out);
  }
}

void Bpe::merge(std::string_view piece, BpeScratch& scratch, std::vector<int32_t>& out) const {
  if (piece.size() <= kScanLimit) {
    merge_by_scan(piece, scratch, out);
  } else {
    merge_by_heap(piece, scratch, out);
  }
}

void Bpe::merge_by_scan(std::string_view piece, BpeScratch& scratch,
                        std::vector<int32_t>& out) const {
  size_t count = piece.size();
  scratch.ids.resize(count);
  scratch.ranks.resize(count);
  int32_t* const ids = scratch.ids.data();
  uint32_t* const ranks = scratch.ranks.data();  // ranks[i]: of merging i with i + 1
  for (size_t i = 0; i < count; ++i) ids[i] = byte_ids_[byte_at(piece, i)];
  for (size_t i = 0; i + 1 < count; ++i) {
    ranks[i] = byte_pair_ranks_[byte_at(piece, i) * byte_ids_.size() + byte_at(piece, i + 1)];
  }
  while (count > 1) {
    const uint32_t* const best = std::min_element(ranks, ranks + count - 1);
    if (*best == kNoRank) break;
    const auto at = static_cast<size_t>(best - ranks);
    ids[at] = merges_.merged(*best);
    std::copy(ids + at + 2, ids + count, ids + at + 1);
    std::copy(ranks + at + 1, ranks + count - 1, ranks + at);
    --count;
    if (at + 1 < count) ranks[at] = merges_.rank(ids[at], ids[at + 1]);
    if (at > 0) ranks[at - 1] = merges_.rank(ids[at - 1], ids[at]);
  }
  out.insert(out.end(), ids, ids + count);
}

void Bpe::merge_by_heap(std::string_view piece, BpeScratch& scratch,
                        std::vector<int32_t>& out) const {
  const size_t end = piece.size();
  auto& nodes = scratch.nodes;
  auto& heap = scratch.heap;
  nodes.resize(end);
  heap.clear();
  for (size_t i = 0; i < end; ++i) {
    nodes[i] = {byte_ids_[byte_at(piece, i)], kNoRank, i == 0 ? end : i - 1, i + 1};
    if (i + 1 == end) break;
    nodes[i].rank = byte_pair_ranks_[byte_at(piece, i) * byte_ids_.size() + byte_at(piece, i + 1)];
    if (nodes[i].rank != kNoRank) heap.emplace_back(nodes[i].rank, i);
  }
  std::ranges::make_heap(heap, std::greater{});
  const auto update = [&](size_t at) {
    const size_t next = nodes[at].next;
    nodes[at].rank = next == end ? kNoRank : merges_.rank(nodes[at].id, nodes[next].id);
    if (nodes[at].rank == kNoRank) return;
    heap.emplace_back(nodes[at].rank, at);
    std::ranges::push_heap(heap, std::greater{});
  };
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, std::greater{});
    const auto [rank, at] = heap.back();
    heap.pop_back();
    if (nodes[at].rank != rank) continue;  // the pair has changed since
    const size_t gone = nodes[at].next;
    nodes[at].id = merges_.merged(rank);
    nodes[at].next = nodes[gone].next;
    nodes[gone].rank = kNoRank;
    if (nodes[at].next != end) nodes[nodes[at].next].previous = at;
    update(at);
    if (nodes[at].previous != end) update(nodes[at].previous);
  }
  for (size_t i = 0; i != end; i = nodes[i].next) out.push_back(nodes[i].id);
}

}  // namespace deltaserve
