// Every way in which a file can fail to be one is an error that names it.
#include "base/read_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace deltaserve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ReadFile : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 std::string("read_file_test_")
                     .append(::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return directory_ / name;
  }

  std::filesystem::path directory_;
};

TEST_F(ReadFile, GivesAllBytes) {
  const std::string text(200'000, 'x');
  EXPECT_EQ(read_file(write("long", text), text.size()).value(), text);
  EXPECT_EQ(read_file(write("empty", ""), 0).value(), "");
  const std::string zeros("a\0b\r\n", 5);
  EXPECT_EQ(read_file(write("zeros", zeros), 100).value(), zeros);
}

TEST_F(ReadFile, RefusesWhatIsTooLong) {
  const auto text = read_file(write("long", "12345"), 4);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(text.error().message, AllOf(HasSubstr("long"), HasSubstr("too large")));
}

TEST_F(ReadFile, NamesWhatIsMissing) {
  const auto text = read_file(directory_ / "none.json", 100);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(text.error().param, "none.json");
  EXPECT_THAT(text.error().message, AllOf(HasSubstr("none.json"), HasSubstr("No such file")));
}

TEST_F(ReadFile, NamesADirectory) {
  const auto text = read_file(directory_, 100);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(text.error().message,
              AllOf(HasSubstr("read_file_test"), HasSubstr("Is a directory")));
}

TEST_F(ReadFile, ALinkThatLeadsNowhereIsThere) {
  EXPECT_FALSE(has_file(directory_ / "link"));
  std::filesystem::create_symlink("nowhere", directory_ / "link");
  EXPECT_TRUE(has_file(directory_ / "link"));
  EXPECT_FALSE(read_file(directory_ / "link", 100));
  EXPECT_TRUE(has_file(directory_));
  EXPECT_FALSE(has_file(write("file", "") / "below"));
}

}  // namespace
}  // namespace deltaserve
