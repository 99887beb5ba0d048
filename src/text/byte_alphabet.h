// GPT-2's byte alphabet: the vocabulary files write every byte as one printable character.
// Printable Latin-1 bytes stand for themselves; the other 68 take U+0100 onwards in byte order
// (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", released encoder).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace deltaserve {

// The bytes that alphabet text `text` (valid UTF-8) stands for; nullopt if one of its characters
// is not in the alphabet.
std::optional<std::string> bytes_from_alphabet(std::string_view text);

// The alphabet text of `bytes`.
std::string alphabet_from_bytes(std::string_view bytes);

}  // namespace deltaserve
