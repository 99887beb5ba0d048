// Files that are cut, lie about themselves, name other files or are no videos: an error that says
// so, soon.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "clips.h"
#include "media/video_decoder.h"

namespace deltaserve {
namespace {

using Clock = std::chrono::steady_clock;

// "" if the file can be decoded from its first frame to its last.
std::string error_of(const std::vector<uint8_t>& file, const VideoLimits& limits = {}) {
  const auto info = read_video_info(file, limits);
  if (!info) return info.error().message;
  const std::vector<int64_t> ends = {0, info->num_frames - 1};
  const auto decoded = decode_video(file, limits, ends, [&](const RgbImage& frame) {
    EXPECT_EQ(frame.width, info->width);
    EXPECT_EQ(frame.height, info->height);
  });
  return decoded ? "" : decoded.error().message;
}

void expect_error(const std::vector<uint8_t>& file, std::string_view part,
                  const VideoLimits& limits = {}) {
  const auto start = Clock::now();
  const std::string error = error_of(file, limits);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
  EXPECT_TRUE(error.starts_with("The video")) << error;
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

std::vector<uint8_t> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

// Writes a big-endian number `skip` bytes behind the first place where `name` stands.
void patch(std::vector<uint8_t>& file, std::string_view name, size_t skip, uint32_t value,
           size_t bytes) {
  const auto found = std::search(file.begin(), file.end(), name.begin(), name.end());
  ASSERT_NE(found, file.end()) << name;
  auto at = found + static_cast<std::ptrdiff_t>(name.size() + skip);
  for (size_t i = bytes; i-- > 0;) *at++ = static_cast<uint8_t>(value >> (8 * i));
}

// Where "stsd" has the width and the height: behind its own 8 bytes, the entry's size and name, and
// 24 bytes of the entry.
constexpr size_t kSizeInDescription = 40;

TEST(HostileVideo, EveryPrefixIsAnErrorOrAVideo) {
  for (const char* name : {"h264.mp4", "vp9.webm", "hevc.mkv"}) {
    const auto whole = read_clip(name);
    for (size_t size = 0; size < whole.size(); size += 7) {
      const std::vector<uint8_t> cut(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(size));
      const std::string error = error_of(cut);
      EXPECT_TRUE(error.empty() || error.starts_with("The video")) << name << " at " << size;
    }
  }
}

TEST(HostileVideo, HalfAVideoIsAnError) {
  for (const char* name : {"h264.mp4", "rotated.mp4"}) {
    auto file = read_clip(name);
    file.resize(file.size() / 2);
    expect_error(file, "cut");
  }
}

TEST(HostileVideo, EveryChangedByteIsHarmless) {
  for (const char* name : {"h264.mp4", "vp8.webm", "hevc.mkv"}) {
    const auto whole = read_clip(name);
    const VideoLimits limits{.max_pixels = 1 << 16, .max_frames = 100};
    for (size_t at = 0; at < whole.size(); ++at) {
      auto file = whole;
      file[at] = static_cast<uint8_t>(file[at] ^ 0x80);
      const std::string error = error_of(file, limits);
      EXPECT_TRUE(error.empty() || error.starts_with("The video")) << name << " at " << at;
    }
  }
}

TEST(HostileVideo, NamesWhatItDoesNotTake) {
  expect_error({}, "empty");
  expect_error(bytes_of("hello"), "no known format");
  expect_error(bytes_of("GIF89a"), "no known format");
  expect_error(read_clip("sound.mp4"), "no pictures");
  expect_error(read_clip("mpeg4.mp4"), "'mpeg4'");
}

// Formats whose files name other files or addresses are not read at all.
TEST(HostileVideo, PlaylistsAreNoVideos) {
  expect_error(bytes_of("#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1/a.ts\n"), "no known format");
  expect_error(bytes_of("ffconcat version 1.0\nfile '/etc/passwd'\n"), "no known format");
  expect_error(bytes_of("<?xml version=\"1.0\"?><MPD></MPD>"), "no known format");
  expect_error(bytes_of("v=0\nc=IN IP4 127.0.0.1\nm=video 1 RTP/AVP 96\n"), "no known format");
}

// An MP4 whose pictures lie, by its own word, in another file: "dref" holds an alias instead of
// "url ".
TEST(HostileVideo, DataInOtherFilesIsNotOpened) {
  auto file = read_clip("h264.mp4");
  const std::string_view url = "url ";
  const auto entry = std::search(file.begin(), file.end(), url.begin(), url.end());
  ASSERT_NE(entry, file.end());
  std::ranges::copy(std::string_view("alis"), entry);
  *(entry + 7) = 0;  // not in this file
  const std::string error = error_of(file);
  EXPECT_TRUE(error.empty() || error.starts_with("The video")) << error;
}

TEST(HostileVideo, RefusesSizesByTheHeader) {
  auto huge = read_clip("h264.mp4");
  patch(huge, "stsd", kSizeInDescription, 60000U << 16 | 60000U, 4);
  expect_error(huge, "pixels a frame");
  auto nothing = read_clip("h264.mp4");
  patch(nothing, "stsd", kSizeInDescription, 0, 4);
  expect_error(nothing, "The video");
}

TEST(HostileVideo, FramesMustBeAsTheHeaderSays) {
  auto file = read_clip("h264.mp4");
  patch(file, "stsd", kSizeInDescription, 64U << 16 | 64U, 4);
  expect_error(file, "its header says 64x64");
}

// A table of four billion frames of one size in a file of two kilobytes.
TEST(HostileVideo, RefusesTablesThatNobodyCanFill) {
  auto file = read_clip("h264.mp4");
  patch(file, "stsz", 4, 1, 4);
  patch(file, "stsz", 8, 0xFFFFFFF0U, 4);
  patch(file, "stsc", 12, 0x7FFFFFFFU, 4);
  expect_error(file, "The video");
}

TEST(HostileVideo, KeepsItsLimits) {
  const auto file = read_clip("h264.mp4");
  expect_error(file, "bytes", {.max_bytes = file.size() - 1});
  expect_error(file, "pixels a frame", {.max_pixels = kClipWidth * kClipHeight - 1});
  expect_error(file, "more than 19 frames", {.max_frames = kClipFrames - 1});
  expect_error(file, "lasts 2 s", {.max_seconds = 1.9});
  expect_error(file, "takes longer", {.timeout = std::chrono::milliseconds(-1)});
}

}  // namespace
}  // namespace deltaserve
