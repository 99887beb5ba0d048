// The container format: what is written reads back, and hostile headers are errors that name the
// tensor.
#include "tensor/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "tensor/safetensors_writer.h"

namespace deltaserve {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> file_bytes(const std::string& header, size_t data_size,
                                  uint64_t claimed_length = UINT64_MAX) {
  const uint64_t length = claimed_length == UINT64_MAX ? header.size() : claimed_length;
  std::vector<std::byte> bytes(8 + header.size() + data_size);
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

std::string error_of(std::string header, size_t data_size) {
  header.append((8 - header.size() % 8) % 8, ' ');
  const auto parsed = parse_safetensors(file_bytes(header, data_size));
  return parsed ? "" : parsed.error().message;
}

TEST(Safetensors, ReadsTypesShapesAndScalars) {
  std::string header = R"({"__metadata__":{"format":"pt"},)"
                       R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                       R"("s":{"dtype":"I64","shape":[],"data_offsets":[24,32]},)"
                       R"("none":{"dtype":"BF16","shape":[0,7],"data_offsets":[32,32]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  const std::vector<std::byte> bytes = file_bytes(header, 32);
  const auto tensors = parse_safetensors(bytes);
  ASSERT_TRUE(tensors) << tensors.error().message;
  ASSERT_EQ(tensors->size(), 3U);
  EXPECT_EQ(tensors->at("a").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensors->at("a").data, bytes.data() + 8 + header.size());
  EXPECT_EQ(tensors->at("s").num_elements(), 1);
  EXPECT_EQ(tensors->at("none").num_elements(), 0);
}

TEST(Safetensors, HostileHeadersAreErrors) {
  EXPECT_THAT(error_of(R"([])", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_of(R"({"a":)", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_of(R"({"a":3})", 0), HasSubstr("\"a\""));
  EXPECT_THAT(error_of(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4), HasSubstr("dtype"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}})", 8),
              HasSubstr("C64"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4),
              HasSubstr("data_offsets"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
              HasSubstr("ascending"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", 4),
              HasSubstr("ascending"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 4),
              HasSubstr("truncated"));
  EXPECT_THAT(
      error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]}})", 4),
      HasSubstr("ascending"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
              HasSubstr("dimension"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4),
              HasSubstr("dimension"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
              HasSubstr("more bytes"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 8),
              HasSubstr("4 bytes"));
}

TEST(Safetensors, ShapesThatOverflowAreErrors) {
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],)"
                       R"("data_offsets":[0,0]}})",
                       0),
              HasSubstr("more bytes"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[0,9223372036854775807,3],)"
                       R"("data_offsets":[0,0]}})",
                       0),
              HasSubstr("overflows"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],)"
                       R"("data_offsets":[0,1]}})",
                       1),
              HasSubstr("shape"));
}

TEST(Safetensors, TensorsMustTileTheData) {
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                       8),
              HasSubstr("\"b\": its data overlaps"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                       12),
              HasSubstr("bytes 4 to 8"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8),
              HasSubstr("4 bytes after the last tensor"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
                       5),
              HasSubstr("aligned"));
}

TEST(Safetensors, LengthsBeyondTheFileAreErrors) {
  EXPECT_FALSE(parse_safetensors({}));
  EXPECT_FALSE(parse_safetensors(std::vector<std::byte>(7)));
  EXPECT_FALSE(parse_safetensors(std::vector<std::byte>(8)));  // an empty header
  EXPECT_THAT(parse_safetensors(file_bytes("{}", 0, 3)).error().message, HasSubstr("truncated"));
  EXPECT_THAT(parse_safetensors(file_bytes("{}", 0, UINT64_MAX - 1)).error().message,
              HasSubstr("not a safetensors file"));
  std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
  EXPECT_THAT(parse_safetensors(std::as_bytes(std::span(pointer))).error().message,
              HasSubstr("git lfs pull"));
}

class SafetensorsFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 (std::string("safetensors_") +
                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

TEST_F(SafetensorsFiles, WrittenTensorsReadBack) {
  const std::vector<uint16_t> odd = {0x3f80, 0x4000, 0x4040};
  const std::vector<float> wide = {1.5F, -2.5F};
  const auto path = directory_ / "t.safetensors";
  const Result<void> wrote = write_safetensors(
      path,
      {{"odd", {.dtype = DType::kBF16, .shape = {3}, .data = std::as_bytes(std::span(odd)).data()}},
       {"wide \"quoted\"",
        {.dtype = DType::kF32, .shape = {1, 2}, .data = std::as_bytes(std::span(wide)).data()}},
       {"empty", {.dtype = DType::kF32, .shape = {0}, .data = nullptr}}});
  ASSERT_TRUE(wrote) << wrote.error().message;
  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_NE((*file)->find("wide \"quoted\""), nullptr);
  EXPECT_EQ(to_float_vector(*(*file)->find("wide \"quoted\"")), wide);
  EXPECT_EQ(to_float_vector(*(*file)->find("odd")), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ((*file)->find("absent"), nullptr);
  drop_mapped_pages(*(*file)->find("odd"));
  EXPECT_EQ(to_float_vector(*(*file)->find("odd")), (std::vector<float>{1, 2, 3}));
}

TEST_F(SafetensorsFiles, AnUnfinishedFileLeavesNothing) {
  const auto path = directory_ / "t.safetensors";
  {
    auto writer = SafetensorsWriter::create(path, {{"a", DType::kF32, {4}}});
    ASSERT_TRUE(writer);
    const float value = 1.0F;
    ASSERT_TRUE((*writer)->write(0, 12, std::as_bytes(std::span(&value, 1))));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(SafetensorsFiles, ErrorsNameTheFile) {
  EXPECT_THAT(SafetensorsFile::open(directory_ / "none.safetensors").error().message,
              HasSubstr("none.safetensors"));
  std::ofstream(directory_ / "short.safetensors") << "abc";
  EXPECT_THAT(SafetensorsFile::open(directory_ / "short.safetensors").error().message,
              HasSubstr("short.safetensors"));
  std::ofstream(directory_ / "empty.safetensors").flush();
  EXPECT_THAT(SafetensorsFile::open(directory_ / "empty.safetensors").error().message,
              HasSubstr("empty"));
  EXPECT_FALSE(SafetensorsFile::open(directory_));
  EXPECT_THAT(write_safetensors(directory_ / "no" / "t.safetensors", {}).error().message,
              HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace deltaserve
