// Files that are cut, lie about their size or are no pictures: an error that says so, soon, and no
// memory for pixels that are not there.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "media/image_decoder.h"
#include "media/image_processor.h"
#include "sample_pictures.h"

namespace deltaserve {
namespace {

std::string error_of(const std::vector<uint8_t>& file, const ImageLimits& limits = {}) {
  const auto image = decode_image(file, limits);
  return image ? "" : image.error().message;
}

std::vector<uint8_t> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

TEST(HostileImage, EveryPrefixIsAnErrorOrThePicture) {
  for (const SamplePicture& sample : sample_pictures()) {
    const auto whole = decode_image(sample.file, {});
    ASSERT_TRUE(whole.has_value()) << sample.name << ": " << whole.error().message;
    for (size_t size = 0; size < sample.file.size(); ++size) {
      const auto cut = decode_image(Bytes(sample.file).first(size), {});
      if (cut) {
        EXPECT_EQ(cut->pixels, whole->pixels) << sample.name << " cut at " << size;
      }
    }
  }
}

TEST(HostileImage, HalfAPictureIsAnError) {
  for (const SamplePicture& sample : sample_pictures()) {
    auto file = sample.file;
    file.resize(file.size() / 2);
    EXPECT_EQ(error_of(file).rfind("The image", 0), 0U) << sample.name;
  }
}

TEST(HostileImage, EveryChangedByteIsHarmless) {
  for (const SamplePicture& sample : sample_pictures()) {
    for (size_t at = 0; at < sample.file.size(); ++at) {
      for (const int flip : {0x01, 0x80, 0xFF}) {
        auto file = sample.file;
        file[at] = static_cast<uint8_t>(file[at] ^ flip);
        const auto image = decode_image(file, ImageLimits{1 << 20, 1 << 20});
        if (image) {
          EXPECT_EQ(image->pixels.size(),
                    static_cast<size_t>(image->width) * 3 * static_cast<size_t>(image->height));
        } else {
          EXPECT_EQ(image.error().code, ErrorCode::kInvalidArgument);
        }
      }
    }
  }
}

TEST(HostileImage, NamesOtherFormats) {
  EXPECT_NE(error_of(bytes_of("<svg xmlns='http://www.w3.org/2000/svg'/>")).find("SVG"),
            std::string::npos);
  EXPECT_NE(error_of(bytes_of("\xEF\xBB\xBF\n  <svg/>")).find("an SVG"), std::string::npos);
  EXPECT_NE(error_of(bytes_of("<!-- made by hand --><svg/>")).find("SVG"), std::string::npos);
  EXPECT_NE(error_of(bytes_of("\r\n<!doctype html>")).find("HTML"), std::string::npos);
  EXPECT_NE(error_of(bytes_of("....ftyphevc....")).find("HEIC"), std::string::npos);
  EXPECT_NE(error_of(bytes_of("....ftypavis....")).find("AVIF"), std::string::npos);
  EXPECT_NE(error_of(bytes_of("....ftypmsf1....")).find("HEIF"), std::string::npos);
  EXPECT_NE(error_of(bytes_of("....ftypisom....")).find("a video"), std::string::npos);
  EXPECT_NE(error_of(bytes_of("....JXL \r\n....")).find("JPEG XL"), std::string::npos);
  EXPECT_NE(error_of(bytes_of("%PDF-1.7")).find("PDF"), std::string::npos);
  EXPECT_NE(error_of(bytes_of("BM123")).find("BMP"), std::string::npos);
  EXPECT_NE(error_of(bytes_of("hello")).find("no known format"), std::string::npos);
  EXPECT_NE(error_of({}).find("empty"), std::string::npos);
}

// A header of 60000 x 60000 pixels with nothing behind it: refused without 10 GB of memory.
TEST(HostileImage, RefusesBombsByTheirHeader) {
  const auto start = std::chrono::steady_clock::now();
  for (const SamplePicture& bomb : picture_bombs()) {
    EXPECT_NE(error_of(bomb.file).find("pixels"), std::string::npos)
        << bomb.name << ": " << error_of(bomb.file);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(HostileImage, KeepsItsLimits) {
  const SamplePicture sample = sample_pictures().front();
  const ImageLimits small_file{1 << 20, sample.file.size() - 1};
  EXPECT_NE(error_of(sample.file, small_file).find("bytes"), std::string::npos);
  EXPECT_NE(error_of(sample.file, ImageLimits{3, 1 << 20}).find("at most 3 pixels"),
            std::string::npos);
}

TEST(HostileImage, StripsAreRefusedBeforeDecoding) {
  const ImageProcessor processor({.min_pixels = 4096, .max_pixels = 65536}, {});
  const auto plan = processor.inspect(png_header_only(30000, 10));
  ASSERT_FALSE(plan.has_value());
  EXPECT_NE(plan.error().message.find("30000x10"), std::string::npos);
}

}  // namespace
}  // namespace deltaserve
