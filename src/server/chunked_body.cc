// ChunkedBody: data in bulk, all the rest byte by byte.
#include "server/chunked_body.h"

#include <algorithm>

namespace deltaserve {
namespace {

// Extensions and trailers carry signatures and checksums at most; more is somebody keeping the
// server busy.
constexpr size_t kMaxOverhead = size_t{64} << 10;
constexpr int kMaxSizeDigits = 15;  // 60 bits: no overflow

int hex_digit(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  const char lower = static_cast<char>(byte | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool is_field_text(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value == '\t' || (value >= 0x20 && value != 0x7F);
}

}  // namespace

ChunkedBody::Event ChunkedBody::feed(std::string_view& input, std::string& body, size_t max_bytes) {
  while (!input.empty()) {
    if (state_ == State::kData) {
      const size_t size = static_cast<size_t>(std::min<uint64_t>(size_, input.size()));
      body += input.substr(0, size);
      input.remove_prefix(size);
      size_ -= size;
      if (size_ == 0) {
        state_ = State::kDataCr;
      }
      continue;
    }
    const char byte = input.front();
    input.remove_prefix(1);
    if (!take(byte)) {
      return Event::kInvalid;
    }
    if (complete_) {
      return Event::kComplete;
    }
    if (state_ == State::kData && size_ > max_bytes - std::min(max_bytes, body.size())) {
      return Event::kTooLarge;
    }
  }
  return Event::kNeedMore;
}

bool ChunkedBody::take(char byte) {
  switch (state_) {
    case State::kSizeStart:
      size_ = 0;
      num_digits_ = 0;
      state_ = State::kSize;
      return hex_digit(byte) >= 0 && take_size(byte);
    case State::kSize:
      return take_size(byte);
    case State::kExtension:
      return take_text(byte, State::kSizeLf);
    case State::kSizeLf:
      state_ = size_ == 0 ? State::kTrailerStart : State::kData;
      return byte == '\n';
    case State::kDataCr:
      state_ = State::kDataLf;
      return byte == '\r';
    case State::kDataLf:
      state_ = State::kSizeStart;
      return byte == '\n';
    case State::kTrailerStart:
      state_ = byte == '\r' ? State::kFinalLf : State::kTrailer;
      return byte == '\r' || take_text(byte, State::kTrailerLf);
    case State::kTrailer:
      return take_text(byte, State::kTrailerLf);
    case State::kTrailerLf:
      state_ = State::kTrailerStart;
      return byte == '\n';
    case State::kFinalLf:
      complete_ = true;
      return byte == '\n';
    case State::kData:
      break;
  }
  return false;
}

bool ChunkedBody::take_size(char byte) {
  if (const int digit = hex_digit(byte); digit >= 0) {
    size_ = size_ * 16 + static_cast<uint64_t>(digit);
    return ++num_digits_ <= kMaxSizeDigits;
  }
  if (byte == '\r') {
    state_ = State::kSizeLf;
    return true;
  }
  state_ = State::kExtension;
  return byte == ';' || byte == ' ' || byte == '\t';
}

bool ChunkedBody::take_text(char byte, State after_cr) {
  if (byte == '\r') {
    state_ = after_cr;
    return true;
  }
  return is_field_text(byte) && ++overhead_ <= kMaxOverhead;
}

}  // namespace deltaserve
