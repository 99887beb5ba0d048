// The smallest files that reach every decoder: six pixels, written by Pillow.
#include "sample_pictures.h"

#include <array>
#include <string_view>

#include "media/base64.h"

namespace deltaserve {
namespace {

using namespace std::string_view_literals;

struct Encoded {
  std::string_view name;
  std::string_view base64;
};

constexpr std::array kPictures = {
    Encoded{"png",
            "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAHUlEQVR4nGM4wSXCdUJEhOsEw69fXKys"
            "rL9+/QIAP38HrjqigzwAAAAASUVORK5CYII="sv},
    Encoded{"png_palette",
            "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACBAMAAABvWnspAAAAElBMVEX6+vr6+goKyBTIChQUCsgFBQUU"
            "v3qbAAAADklEQVR4nGM04mMQZQAAAWgAV+cNGQwAAAAASUVORK5CYII="sv},
    Encoded{"jpeg",
            "/9j/4AAQSkZJRgABAQAAAQABAAD/4QAiRXhpZgAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAD/2wBD"
            "AA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQ"
            "YEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09P"
            "T09PT09PT09PT09PT0//wAARCAACAAMDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAb/xAAe"
            "EAACAgICAwAAAAAAAAAAAAABAgAFAwQREhQxYf/EABUBAQEAAAAAAAAAAAAAAAAAAAIF/8QAGxEAAgEF"
            "AAAAAAAAAAAAAAAAAAECBDEzcbH/2gAMAwEAAhEDEQA/AKmhqKvYrnybFbp5X8rYXs+BWPC5nAHJHoAA"
            "D4IiJUpcENLgXc//2Q=="sv},
    Encoded{"jpeg_progressive",
            "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwz"
            "Oko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09P"
            "T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wgARCAACAAMDASIAAhEBAxEB/8QA"
            "FQABAQAAAAAAAAAAAAAAAAAAAAX/xAAVAQEBAAAAAAAAAAAAAAAAAAABBP/aAAwDAQACEAMQAAABqCo/"
            "/8QAFRABAQAAAAAAAAAAAAAAAAAAAwL/2gAIAQEAAQUCAio//8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/a"
            "AAgBAwEBPwF//8QAFxEAAwEAAAAAAAAAAAAAAAAAAAEDMv/aAAgBAgEBPwGWEf/EABsQAAEEAwAAAAAA"
            "AAAAAAAAAAIAAQMRIkFh/9oACAEBAAY/ArKMHyLXV//EABcQAQEBAQAAAAAAAAAAAAAAAAERADH/2gAI"
            "AQEAAT8hcJJVLx7/2gAMAwEAAgADAAAAEPP/xAAWEQADAAAAAAAAAAAAAAAAAAAAATH/2gAIAQMBAT8Q"
            "dP/EABcRAAMBAAAAAAAAAAAAAAAAAAABobH/2gAIAQIBAT8QjWH/xAAZEAEAAgMAAAAAAAAAAAAAAAAB"
            "ABEhMWH/2gAIAQEAAT8QymGGUELTQAHCf//Z"sv},
    Encoded{"webp",
            "UklGRlIAAABXRUJQVlA4IEYAAADQAQCdASoDAAIAAsBMJagCdAEO92ZIAAD+Co1eyXr3/1/+gr1aeNX5"
            "rC2CP/gIb2fs//f/8m/+XLm3QY+//yb7wJ0NnAAA"sv},
    Encoded{"webp_lossless",
            "UklGRk4AAABXRUJQVlA4TEIAAAAvAkAAAC+gqI0UaM8/mhCOK7wojiQD2nUTlvxLNv4K2UiC9pVYf4QD"
            "O4T5j3r/F/Dm5hZ2DhSkbcDi7ilbRP/jkwE="sv},
    Encoded{"gif",
            "R0lGODdhAwACAIIAAPr6+vr6CgrIFMgKFBQKyAUFBQAAAAAAACwAAAAAAwACAAAICQAHCCAQoACAgAA7"sv},
    Encoded{"webp_animated",
            "UklGRuAAAABXRUJQVlA4WAoAAAACAAAAAgAAAQAAQU5JTQYAAAAAAAAAAABBTk1GVgAAAAAAAAAAAAIA"
            "AAEAAAAAAAJWUDhMPQAAAC8CQAAAL6CgbRuml1ipj9DgKGjbhmm7PzjDPoBEAiSJzDHnOsxknv9o8ELb"
            "wsffAQMFaRuwuHsKFtH/uDsAQU5NRlYAAAAAAAAAAAACAAABAAAAAAAAVlA4TD0AAAAvAkAAAC+goG0b"
            "ppdYqY/Q4Cho24Zpuz84wz6ARAIkicwx5zrMZJ7/aPBC28LH3wEDBWkbsLh7BhbR/1gfAA=="sv},
};

void append_big_endian(std::vector<uint8_t>& out, uint32_t value) {
  for (const uint32_t shift : {24U, 16U, 8U, 0U})
    out.push_back(static_cast<uint8_t>(value >> shift));
}

// The CRC-32 of PNG chunks.
uint32_t checksum(Bytes bytes) {
  uint32_t crc = 0xFFFFFFFFU;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

std::vector<uint8_t> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

}  // namespace

std::vector<SamplePicture> sample_pictures() {
  std::vector<SamplePicture> out;
  out.reserve(kPictures.size());
  for (const Encoded& picture : kPictures) {
    out.push_back({std::string(picture.name), *decode_base64(picture.base64)});
  }
  return out;
}

std::vector<uint8_t> png_chunk(std::string_view type, Bytes body) {
  std::vector<uint8_t> named = bytes_of(type);
  named.insert(named.end(), body.begin(), body.end());
  std::vector<uint8_t> chunk;
  append_big_endian(chunk, static_cast<uint32_t>(body.size()));
  chunk.insert(chunk.end(), named.begin(), named.end());
  append_big_endian(chunk, checksum(named));
  return chunk;
}

std::vector<uint8_t> png_header_only(uint32_t width, uint32_t height) {
  std::vector<uint8_t> file = bytes_of("\x89PNG\r\n\x1A\n"sv);
  std::vector<uint8_t> head;
  append_big_endian(head, width);
  append_big_endian(head, height);
  head.insert(head.end(), {8, 2, 0, 0, 0});  // 8-bit RGB
  const std::vector<uint8_t> chunk = png_chunk("IHDR", head);
  file.insert(file.end(), chunk.begin(), chunk.end());
  return file;
}

std::vector<SamplePicture> picture_bombs() {
  std::vector<SamplePicture> out;
  out.push_back({"png", png_header_only(60000, 60000)});
  // A frame of one pixel on a screen of 65535 x 65535.
  out.push_back({"gif", bytes_of("GIF89a\xFF\xFF\xFF\xFF\0\0\0,\0\0\0\0\1\0\1\0\0\2\2L\1\0;"sv)});
  // Its frame header says 60000 x 60000, its scan is empty.
  auto jpeg = sample_pictures()[2].file;
  for (size_t i = 0; i + 8 < jpeg.size(); ++i) {
    if (jpeg[i] == 0xFF && jpeg[i + 1] == 0xC0) {
      jpeg[i + 5] = jpeg[i + 7] = 0xEA;
      jpeg[i + 6] = jpeg[i + 8] = 0x60;
    }
  }
  out.push_back({"jpeg", std::move(jpeg)});
  // A canvas of 16384 x 16384 around a frame of 3 x 2.
  auto webp = sample_pictures().back().file;
  for (const size_t at : {24U, 27U}) {
    webp[at] = 0xFF;
    webp[at + 1] = 0x3F;
  }
  out.push_back({"webp", std::move(webp)});
  return out;
}

}  // namespace deltaserve
