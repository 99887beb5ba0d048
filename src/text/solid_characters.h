// Characters that BPE always puts together from their bytes before anything joins them to their
// neighbours. Encoding may begin with such a character as one symbol, which makes Chinese, Japanese
// and Korean pieces a third as long.
//
// Let r(C) be the highest rank among the merges that make C out of its bytes on their own. Merges
// are done in order of rank, so C is whole before anything else happens to it if every rule that
// can reach across its borders ranks above r(C): rules for C itself, for its first or its last
// bytes. Rules that join a whole neighbour to a part of C are charged to the neighbour instead,
// which then "threatens" what stands beside it: in trained vocabularies there are a few of those at
// low ranks, made of the most frequent character and the first byte of many others.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/merge_table.h"
#include "text/vocabulary.h"

namespace deltaserve {

class SolidCharacters {
 public:
  struct Character {
    int32_t token = Vocabulary::kNoToken;  // if it is solid between neighbours without threat
    bool threatens_next = false;
    bool threatens_previous = false;
  };

  // `rules` are the rules of the merge table, in rank order.
  SolidCharacters(const Vocabulary& vocabulary, const std::vector<MergeRule>& rules,
                  const MergeTable& merges);

  const Character& find(char32_t code_point) const {
    return code_point < kEnd ? characters_[code_point] : unknown_;
  }

 private:
  static constexpr uint32_t kEnd = 0x10000;  // later characters are rarely tokens of their own

  void add_threat(std::string_view character, bool Character::*threat);

  std::vector<Character> characters_;  // [kEnd]
  Character unknown_{Vocabulary::kNoToken, true, true};
};

}  // namespace deltaserve
