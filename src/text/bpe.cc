// See bpe.h. Short pieces are merged by scanning an array of ranks, long ones with a heap; both
// give the same result, as a merged token is longer than its parts and so never takes the place of
// an earlier candidate of the same rank.
#include "text/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "text/utf8.h"

namespace deltaserve {
namespace {

// Symbols up to which scanning is faster than the heap; measured with bench/text, flat from 64 to
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
    : vocabulary_(std::move(vocabulary)), merges_(rules), solid_(vocabulary_, rules, merges_) {}

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
  return {};
}

void Bpe::mark_direct_tokens(bool ignore_merges) {
  BpeScratch scratch;
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < vocabulary_.id_end(); ++id) {
    const std::string_view bytes = vocabulary_.bytes(id);
    const bool can_be_piece = !bytes.empty() && utf8::is_valid(bytes);
    if (!can_be_piece || vocabulary_.find(bytes) != id) continue;
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
  split(piece, scratch.ids);
  if (scratch.ids.size() <= kScanLimit) {
    const size_t count = merge_by_scan(scratch);
    out.insert(out.end(), scratch.ids.begin(),
               scratch.ids.begin() + static_cast<std::ptrdiff_t>(count));
  } else {
    merge_by_heap(scratch, out);
  }
}

// The symbols that merging begins with: solid characters, and bytes elsewhere.
void Bpe::split(std::string_view piece, std::vector<int32_t>& ids) const {
  ids.resize(piece.size());
  size_t count = 0;
  bool is_threatened = false;  // by the character before
  utf8::Decoded here = utf8::decode_valid(piece.data());
  for (size_t i = 0; i < piece.size();) {
    const SolidCharacters::Character& character = solid_.find(here.code_point);
    const size_t next = i + here.length;
    bool is_solid = character.token != Vocabulary::kNoToken && !is_threatened;
    if (next < piece.size()) {
      here = utf8::decode_valid(piece.data() + next);
      is_solid = is_solid && !solid_.find(here.code_point).threatens_previous;
    }
    if (is_solid) {
      ids[count++] = character.token;
    } else {
      for (size_t byte = i; byte < next; ++byte) ids[count++] = byte_ids_[byte_at(piece, byte)];
    }
    is_threatened = character.threatens_next;
    i = next;
  }
  ids.resize(count);
}

// Merges scratch.ids in place; returns how many are left.
size_t Bpe::merge_by_scan(BpeScratch& scratch) const {
  size_t count = scratch.ids.size();
  scratch.ranks.resize(count);
  int32_t* const ids = scratch.ids.data();
  uint32_t* const ranks = scratch.ranks.data();  // ranks[i]: of merging i with i + 1
  for (size_t i = 0; i + 1 < count; ++i) ranks[i] = merges_.rank(ids[i], ids[i + 1]);
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
  return count;
}

void Bpe::merge_by_heap(BpeScratch& scratch, std::vector<int32_t>& out) const {
  const std::vector<int32_t>& ids = scratch.ids;
  const size_t end = ids.size();
  auto& nodes = scratch.nodes;
  auto& heap = scratch.heap;
  nodes.resize(end);
  heap.clear();
  for (size_t i = 0; i < end; ++i) {
    nodes[i] = {ids[i], kNoRank, i == 0 ? end : i - 1, i + 1};
    if (i + 1 == end) break;
    nodes[i].rank = merges_.rank(ids[i], ids[i + 1]);
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
