// EXIF data as writers leave it, and where in a file it may stand: Pillow's exif_transpose says
// what counts. JPEGs of which only the library's warnings are heard are pictures.
#include <gtest/gtest.h>

#include <algorithm>

#include "media/base64.h"
#include "media/exif.h"
#include "media/image_decoder.h"
#include "sample_pictures.h"

namespace deltaserve {
namespace {

constexpr uint8_t kShort = 3;
constexpr uint8_t kLong = 4;

// One directory with the orientation alone, low bytes first.
std::vector<uint8_t> tiff(uint8_t value, uint8_t type = kShort, uint8_t count = 1) {
  return {'I',  'I', 42,   0, 8,     0, 0, 0, 1,     0,        // header, one entry
          0x12, 1,   type, 0, count, 0, 0, 0, value, 0, 0, 0,  // tag 0x0112
          0,    0,   0,    0};
}

TEST(ExifOrientation, TakesShortAndLongNumbers) {
  for (uint8_t value = 1; value <= 8; ++value) {
    EXPECT_EQ(exif_orientation(tiff(value)), value);
    EXPECT_EQ(exif_orientation(tiff(value, kLong)), value);
    EXPECT_EQ(exif_orientation(tiff(value, kShort, 2)), value);  // the first of two
  }
}

TEST(ExifOrientation, IgnoresWhatCannotBeRead) {
  EXPECT_EQ(exif_orientation(tiff(0)), 1);
  EXPECT_EQ(exif_orientation(tiff(9)), 1);
  EXPECT_EQ(exif_orientation(tiff(6, 1)), 1);          // a byte
  EXPECT_EQ(exif_orientation(tiff(6, 2)), 1);          // text
  EXPECT_EQ(exif_orientation(tiff(6, kShort, 0)), 1);  // no number at all
  EXPECT_EQ(exif_orientation(tiff(6, kLong, 2)), 1);   // they stand elsewhere
  const std::vector<uint8_t> whole = tiff(6);
  for (size_t size = 0; size < 22; ++size) {
    EXPECT_EQ(exif_orientation(Bytes(whole).first(size)), 1) << size;
  }
  EXPECT_EQ(exif_orientation(Bytes(whole).first(22)), 6);
}

TEST(ExifOrientation, StandsBehindThePrefixOfJpegToo) {
  std::vector<uint8_t> exif = {'E', 'x', 'i', 'f', 0, 0};
  const std::vector<uint8_t> body = tiff(6);
  exif.insert(exif.end(), body.begin(), body.end());
  EXPECT_EQ(exif_orientation(exif), 6);
  EXPECT_EQ(exif_orientation(Bytes(exif).first(6)), 1);
}

// The sample is 3 x 2 pixels.
TEST(ExifOrientation, StandsAnywhereInAPng) {
  const std::vector<uint8_t> png = sample_pictures()[0].file;
  const std::vector<uint8_t> chunk = png_chunk("eXIf", tiff(6));
  constexpr std::ptrdiff_t kBehindHeader = 33;
  const auto at_end = std::ssize(png) - 12;
  const auto upright = decode_image(png, {});
  ASSERT_TRUE(upright.has_value());
  for (const std::ptrdiff_t at : {kBehindHeader, at_end}) {
    std::vector<uint8_t> file = png;
    file.insert(file.begin() + at, chunk.begin(), chunk.end());
    const auto header = read_image_header(file, {});
    ASSERT_TRUE(header.has_value()) << header.error().message;
    EXPECT_EQ(header->orientation, 6);
    const auto image = decode_image(file, {});
    ASSERT_TRUE(image.has_value()) << image.error().message;
    ASSERT_EQ(image->width, 2);
    ASSERT_EQ(image->height, 3);
    // Turned by a quarter clockwise, the lower left corner comes first.
    EXPECT_TRUE(std::equal(image->pixels.begin(), image->pixels.begin() + 3,
                           upright->pixels.begin() + std::ptrdiff_t{3} * 3));
  }
}

TEST(ExifOrientation, SurvivesChunksThatReachBeyondTheFile) {
  std::vector<uint8_t> file = sample_pictures()[0].file;
  const std::vector<uint8_t> chunk = png_chunk("eXIf", tiff(6));
  file.insert(file.end() - 12, chunk.begin(), chunk.end());
  for (size_t size = file.size() - 12 - chunk.size(); size < file.size() - 12; ++size) {
    const auto header = read_image_header(Bytes(file).first(size), {});
    EXPECT_TRUE(!header || header->orientation == 1) << size;
  }
}

TEST(Jpeg, OfAnUnknownRevisionIsAPicture) {
  std::vector<uint8_t> file = sample_pictures()[2].file;
  const auto expected = decode_image(file, {});
  ASSERT_TRUE(expected.has_value());
  constexpr std::string_view kName = "JFIF";
  ASSERT_TRUE(std::equal(kName.begin(), kName.end(), file.begin() + 6));
  file[11] = 200;  // the major revision
  const auto header = read_image_header(file, {});
  ASSERT_TRUE(header.has_value()) << header.error().message;
  const auto image = decode_image(file, {});
  ASSERT_TRUE(image.has_value()) << image.error().message;
  EXPECT_EQ(image->pixels, expected->pixels);
}

// Cyan and black with all samples, magenta and yellow with a quarter: written and read by Pillow.
TEST(Jpeg, OfFourInksMayHaveFewerSamplesOfSome) {
  const auto file = decode_base64(
      "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwANCQoLCggNCwoLDg4NDxMgFRMSEhMnHB4XIC4pMTAuKS0sMzpK"
      "PjM2RjcsLUBXQUZMTlJTUjI+WmFaUGBKUVJP/8AAFAgAAgADBEMiAE0RAFkRAEsRAP/EABcAAQEBAQAA"
      "AAAAAAAAAAAAAAAHBAX/xAAfEAABAwQDAQAAAAAAAAAAAAABAAIEAzRzsRMhQXL/2gAOBEMATQBZAEsA"
      "AD8Ao0BobHIaABy1D0PS9xKIi7kq7rfbtqhxbSjjbpbp1/Iyu2V//9k=");
  ASSERT_TRUE(file.has_value());
  const auto header = read_image_header(*file, {});
  ASSERT_TRUE(header.has_value()) << header.error().message;
  const auto image = decode_image(*file, {});
  ASSERT_TRUE(image.has_value()) << image.error().message;
  EXPECT_EQ(image->pixels, (std::vector<uint8_t>{216, 208, 160, 78, 208, 160, 135, 90, 135,  //
                                                 230, 208, 160, 112, 208, 160, 139, 90, 135}));
}

}  // namespace
}  // namespace deltaserve
