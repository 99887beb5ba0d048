// Decodes a chunked body (RFC 9112, 7.1) as it arrives. Beast's own decoder is not used because it
// asserts on valid short trailers and wants a whole chunk header at a time. Extensions and trailer
// fields are read over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace deltaserve {

class ChunkedBody {
 public:
  enum class Event { kNeedMore, kComplete, kInvalid, kTooLarge };

  // Reads on from the front of `input` and cuts off what was used; data goes to `body`, which may
  // grow to `max_bytes`. After kComplete the rest of `input` belongs to the next request; after an
  // error no further call is allowed.
  Event feed(std::string_view& input, std::string& body, size_t max_bytes);

 private:
  enum class State : uint8_t {
    kSizeStart,  // the first digit
    kSize,
    kExtension,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kTrailerStart,  // a field, or the empty line that ends the body
    kTrailer,
    kTrailerLf,
    kFinalLf,
  };

  bool take(char byte);  // of everything but data; false: invalid
  bool take_size(char byte);
  bool take_text(char byte, State after_cr);

  State state_ = State::kSizeStart;
  bool complete_ = false;
  uint64_t size_ = 0;   // of the chunk; in kData what is left of it
  int num_digits_ = 0;  // of size_
  size_t overhead_ = 0;
};

}  // namespace deltaserve
