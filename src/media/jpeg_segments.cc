// ISO/IEC 10918-1 annex B: segments have a length; entropy-coded data after a scan's header runs to
// the next marker that is neither a stuffed zero nor a restart.
#include "media/jpeg_segments.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace deltaserve {
namespace {

constexpr uint8_t kMarker = 0xFF;
constexpr uint8_t kStartOfImage = 0xD8;
constexpr uint8_t kEndOfImage = 0xD9;
constexpr uint8_t kStartOfScan = 0xDA;
constexpr uint8_t kApp1 = 0xE1;

bool is_restart(uint8_t code) {
  return code >= 0xD0 && code <= 0xD7;
}

// Where the next marker after entropy-coded data begins, or the end.
size_t skip_entropy_data(Bytes file, size_t at) {
  while (at + 1 < file.size()) {
    const void* found = std::memchr(&file[at], kMarker, file.size() - at - 1);
    if (found == nullptr) return file.size();
    at = static_cast<size_t>(static_cast<const uint8_t*>(found) - file.data());
    const uint8_t code = file[at + 1];
    if (code != 0 && code != kMarker && !is_restart(code)) return at;
    at += code == kMarker ? 1 : 2;
  }
  return file.size();
}

Bytes tiff_of_app1(Bytes body) {
  constexpr std::array<uint8_t, 6> kExif = {'E', 'x', 'i', 'f', 0, 0};
  const bool is_exif =
      body.size() >= kExif.size() && std::equal(kExif.begin(), kExif.end(), body.begin());
  return is_exif ? body.subspan(kExif.size()) : Bytes{};
}

}  // namespace

JpegSegments walk_jpeg_segments(Bytes file) {
  JpegSegments out;
  size_t at = 0;
  while (at + 1 < file.size()) {
    if (file[at] != kMarker) {
      ++at;  // decoders skip what stands between segments
      continue;
    }
    const uint8_t code = file[at + 1];
    at += code == kMarker ? 1 : 2;
    if (code == kEndOfImage) {
      out.is_complete = true;
      break;
    }
    if (code == kMarker || code == 0 || code == 1 || code == kStartOfImage || is_restart(code)) {
      continue;
    }
    if (at + 2 > file.size()) break;
    const size_t length = size_t{file[at]} << 8 | file[at + 1];
    if (length < 2 || file.size() - at < length) break;
    if (code == kApp1 && out.exif_tiff.empty()) {
      out.exif_tiff = tiff_of_app1(file.subspan(at + 2, length - 2));
    }
    at += length;
    if (code == kStartOfScan) {
      ++out.num_scans;
      at = skip_entropy_data(file, at);
    }
  }
  return out;
}

}  // namespace deltaserve
