// Checkpoint directories: single file, shards with an index, and everything that can be wrong.
#include "tensor/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tensor/safetensors_writer.h"

namespace deltaserve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 (std::string("checkpoint_") +
                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
    write("config.json", R"({"model_type": "any"})");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
  }

  void write_shard(const std::string& file, const std::vector<std::string>& names) {
    std::vector<std::pair<std::string, TensorView>> tensors;
    for (const std::string& name : names) {
      tensors.emplace_back(name, TensorView{.dtype = DType::kF32,
                                            .shape = {2},
                                            .data = reinterpret_cast<const std::byte*>(values_)});
    }
    ASSERT_TRUE(write_safetensors(directory_ / file, tensors));
  }

  void write_index(const std::string& weight_map) {
    write("model.safetensors.index.json", R"({"metadata": {}, "weight_map": )" + weight_map + "}");
  }

  std::string open_error() {
    const auto checkpoint = Checkpoint::open(directory_);
    return checkpoint ? "" : checkpoint.error().message;
  }

  std::filesystem::path directory_;
  float values_[2] = {1.0F, 2.0F};
};

TEST_F(CheckpointTest, OpensASingleFile) {
  write_shard("model.safetensors", {"b", "a"});
  const auto checkpoint = Checkpoint::open(directory_);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_THAT((*checkpoint)->names(), ElementsAre("a", "b"));
  EXPECT_EQ((*checkpoint)->total_bytes(), 16);
  EXPECT_EQ((*checkpoint)->config().at("model_type").as_string(), "any");
  ASSERT_NE((*checkpoint)->find("a"), nullptr);
  EXPECT_EQ((*checkpoint)->find("c"), nullptr);
}

TEST_F(CheckpointTest, OpensShards) {
  write_shard("model-1.safetensors", {"a"});
  write_shard("model-2.safetensors", {"b", "c"});
  write_index(R"({"a":"model-1.safetensors","b":"model-2.safetensors","c":"model-2.safetensors"})");
  const auto checkpoint = Checkpoint::open(directory_);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_THAT((*checkpoint)->names(), ElementsAre("a", "b", "c"));
}

TEST_F(CheckpointTest, ReadsFurtherJson) {
  write_shard("model.safetensors", {"a"});
  write("generation_config.json", R"({"top_k": 20})");
  write("broken.json", R"({"top_k": )");
  const auto checkpoint = Checkpoint::open(directory_);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ((*checkpoint)->read_json("generation_config.json")->at("top_k").as_int64(), 20);
  EXPECT_TRUE((*checkpoint)->read_json("absent.json")->is_null());
  EXPECT_THAT((*checkpoint)->read_json("broken.json").error().message, HasSubstr("broken.json"));
}

TEST_F(CheckpointTest, MissingFilesAreNamed) {
  EXPECT_THAT(open_error(), HasSubstr("model.safetensors.index.json"));
  write_index(R"({"a":"model-1.safetensors"})");
  EXPECT_THAT(open_error(), HasSubstr("model-1.safetensors: this shard is missing"));
  std::filesystem::remove(directory_ / "config.json");
  EXPECT_THAT(open_error(), HasSubstr("config.json"));
  std::filesystem::remove_all(directory_);
  EXPECT_THAT(open_error(), HasSubstr("no such directory"));
}

TEST_F(CheckpointTest, WhatIsNoDirectoryIsNamed) {
  const auto error_of = [](const std::filesystem::path& path) {
    return Checkpoint::open(path).error().message;
  };
  EXPECT_THAT(error_of(directory_ / "config.json"), HasSubstr("config.json: this is a file"));
  write("model.gguf", "GGUF");
  EXPECT_THAT(error_of(directory_ / "model.gguf"), HasSubstr("GGUF files are not supported"));
  std::filesystem::create_symlink("nowhere", directory_ / "link");
  EXPECT_THAT(error_of(directory_ / "link"), HasSubstr("link: "));
}

TEST_F(CheckpointTest, LinksThatLeadNowhereAndDirectoriesAreNoAbsentFiles) {
  std::filesystem::create_symlink("nowhere", directory_ / "model.safetensors");
  EXPECT_THAT(open_error(), HasSubstr("model.safetensors: cannot be opened"));
  std::filesystem::remove(directory_ / "model.safetensors");
  write_shard("model.safetensors", {"a"});
  std::filesystem::create_symlink("nowhere", directory_ / "generation_config.json");
  std::filesystem::create_directory(directory_ / "processor_config.json");
  const auto checkpoint = Checkpoint::open(directory_);
  ASSERT_TRUE(checkpoint);
  EXPECT_THAT((*checkpoint)->read_json("generation_config.json").error().message,
              HasSubstr("generation_config.json: cannot be read"));
  EXPECT_THAT((*checkpoint)->read_json("processor_config.json").error().message,
              HasSubstr("Is a directory"));
}

TEST_F(CheckpointTest, ATruncatedShardIsNamed) {
  write_shard("model-1.safetensors", {"a"});
  write_index(R"({"a":"model-1.safetensors"})");
  std::filesystem::resize_file(directory_ / "model-1.safetensors",
                               std::filesystem::file_size(directory_ / "model-1.safetensors") - 1);
  EXPECT_THAT(open_error(), HasSubstr("model-1.safetensors: tensor \"a\""));
}

TEST_F(CheckpointTest, IndexAndShardsMustAgree) {
  write_shard("model-1.safetensors", {"a"});
  write_shard("model-2.safetensors", {"a", "b"});
  write_index(R"({"a":"model-1.safetensors","b":"model-2.safetensors"})");
  EXPECT_THAT(open_error(), HasSubstr("holds tensor \"a\""));
  write_index(R"({"a":"model-1.safetensors","c":"model-1.safetensors"})");
  EXPECT_THAT(open_error(), HasSubstr("\"c\" is not in it"));
  write_index(R"({"c":"model-1.safetensors"})");
  EXPECT_THAT(open_error(), HasSubstr("\"a\", which model.safetensors.index.json says is in no"));
}

TEST_F(CheckpointTest, AnIndexCannotLeaveItsDirectory) {
  write_index(R"({"a":"../secret.safetensors"})");
  EXPECT_THAT(open_error(), HasSubstr("\"a\" is not a file name"));
  write_index(R"({"a":17})");
  EXPECT_THAT(open_error(), HasSubstr("\"a\" is not a file name"));
  write_index(R"({})");
  EXPECT_THAT(open_error(), HasSubstr("weight_map"));
}

TEST_F(CheckpointTest, ConfigMustBeAnObject) {
  write("config.json", "[]");
  EXPECT_THAT(open_error(), HasSubstr("config.json: not a JSON object"));
}

}  // namespace
}  // namespace deltaserve
