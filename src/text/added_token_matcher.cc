// See added_token_matcher.h.
#include "text/added_token_matcher.h"

#include <algorithm>

#include "text/unicode_classes.h"
#include "text/utf8.h"

namespace deltaserve {
namespace {

uint8_t flags_at(std::string_view text, size_t i) {
  return UnicodeClasses::get().flags(utf8::decode_valid(text.data() + i).code_point);
}

size_t character_begin(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (utf8::is_continuation(text[begin])) --begin;
  return begin;
}

bool stands_alone(std::string_view text, size_t begin, size_t end) {
  if (begin > 0 && (flags_at(text, character_begin(text, begin)) & kWord) != 0) return false;
  return end == text.size() || (flags_at(text, end) & kWord) == 0;
}

size_t strip_left(std::string_view text, size_t begin, size_t limit) {
  while (begin > limit) {
    const size_t previous = character_begin(text, begin);
    if ((flags_at(text, previous) & kSpace) == 0) break;
    begin = previous;
  }
  return begin;
}

size_t strip_right(std::string_view text, size_t end) {
  while (end < text.size() && (flags_at(text, end) & kSpace) != 0) {
    end += utf8::decode_valid(text.data() + end).length;
  }
  return end;
}

}  // namespace

int32_t AddedTokenMatcher::child(int32_t parent, char byte) const {
  int32_t node = nodes_[static_cast<size_t>(parent)].first_child;
  while (node >= 0 && nodes_[static_cast<size_t>(node)].byte != byte) {
    node = nodes_[static_cast<size_t>(node)].next_sibling;
  }
  return node;
}

void AddedTokenMatcher::add(std::string_view literal, const AddedToken& token) {
  const auto new_node = [this](char byte) {
    nodes_.push_back({.byte = byte});
    return static_cast<int32_t>(nodes_.size() - 1);
  };
  int32_t& root = roots_[static_cast<unsigned char>(literal.front())];
  if (root < 0) root = new_node(literal.front());
  int32_t node = root;
  for (const char byte : literal.substr(1)) {
    int32_t next = child(node, byte);
    if (next < 0) {
      next = new_node(byte);
      nodes_.back().next_sibling = nodes_[static_cast<size_t>(node)].first_child;
      nodes_[static_cast<size_t>(node)].first_child = next;
    }
    node = next;
  }
  int32_t& rule = nodes_[static_cast<size_t>(node)].rule;
  if (rule >= 0) return;
  rule = static_cast<int32_t>(rules_.size());
  rules_.push_back({token.id, token.lstrip, token.rstrip, token.single_word});
}

AddedTokenMatcher::Literal AddedTokenMatcher::longest_at(std::string_view text, size_t begin,
                                                         size_t end) const {
  Literal longest;
  int32_t node = roots_[static_cast<unsigned char>(text[begin])];
  for (size_t i = begin; node >= 0;) {
    ++i;
    const int32_t rule = nodes_[static_cast<size_t>(node)].rule;
    if (rule >= 0) longest = {i - begin, rule};
    if (i == end) break;
    node = child(node, text[i]);
  }
  return longest;
}

size_t AddedTokenMatcher::find(std::string_view text, size_t begin, size_t end, size_t taken,
                               std::vector<AddedTokenMatch>& matches) const {
  for (size_t i = begin; i < end;) {
    const Literal literal = longest_at(text, i, end);
    if (literal.length == 0) {
      ++i;
      continue;
    }
    const size_t literal_end = i + literal.length;
    const Rule& rule = rules_[static_cast<size_t>(literal.rule)];
    if (!rule.single_word || stands_alone(text, i, literal_end)) {
      AddedTokenMatch match{i, literal_end, rule.id};
      if (rule.lstrip) match.begin = std::max(strip_left(text, i, taken), taken);
      if (rule.rstrip) match.end = strip_right(text, literal_end);
      // A match that begins behind what an earlier one took in to its right has nothing left.
      if (match.begin < match.end) {
        matches.push_back(match);
        taken = match.end;
      }
    }
    i = literal_end;
  }
  return taken;
}

}  // namespace deltaserve
