// Unicode normalisation form C as the `tokenizers` library computes it (Unicode 9: later characters
// never compose or reorder). Text that NFC leaves alone, nearly all of it, is found by one scan.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace deltaserve {

// A stretch of the input that was rewritten. Between edits text is copied unchanged.
struct NfcEdit {
  size_t input_begin = 0;
  size_t input_end = 0;
  size_t output_begin = 0;
  size_t output_end = 0;
};

// The first byte at or after `begin` where NFC may change something, or text.size(). A true result
// past the end means that text[begin, size) is in NFC. `text` is valid UTF-8.
size_t find_nfc_candidate(std::string_view text, size_t begin);

// NFC of `text` (valid UTF-8). `edits`, where given, receives the rewritten stretches in order.
std::string normalize_nfc(std::string_view text, std::vector<NfcEdit>* edits = nullptr);

}  // namespace deltaserve
