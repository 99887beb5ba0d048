// Finds the literals of added tokens in text, as `tokenizers` does: leftmost, of those the longest,
// then each token's single_word, lstrip and rstrip rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace deltaserve {

struct AddedTokenMatch {
  size_t begin = 0;  // with the white space that lstrip and rstrip take in
  size_t end = 0;
  int32_t id = 0;
};

class AddedTokenMatcher {
 public:
  // Adds a literal (valid UTF-8, not empty) of `token`; of two equal literals the first counts.
  void add(std::string_view literal, const AddedToken& token);

  bool empty() const { return rules_.empty(); }

  // Appends the matches whose literals lie in text[begin, end), in order. The rest of `text` is
  // context for the white space and word rules; white space before `taken` belongs to earlier
  // matches. Returns where the next match may take white space from.
  size_t find(std::string_view text, size_t begin, size_t end, size_t taken,
              std::vector<AddedTokenMatch>& matches) const;

 private:
  struct Rule {
    int32_t id = 0;
    bool lstrip = false;
    bool rstrip = false;
    bool single_word = false;
  };
  struct Node {  // of a trie over bytes; children are a linked list
    int32_t first_child = -1;
    int32_t next_sibling = -1;
    int32_t rule = -1;
    char byte = 0;
  };
  struct Literal {
    size_t length = 0;  // 0: no literal begins here
    int32_t rule = -1;
  };

  int32_t child(int32_t parent, char byte) const;
  Literal longest_at(std::string_view text, size_t begin, size_t end) const;

  std::vector<Rule> rules_;
  std::vector<Node> nodes_;
  std::array<int32_t, 256> roots_ = make_roots();  // node of each first byte, or -1

  static constexpr std::array<int32_t, 256> make_roots() {
    std::array<int32_t, 256> roots{};
    roots.fill(-1);
    return roots;
  }
};

}  // namespace deltaserve
