// Named prefixes over a restart: a second engine begins where the first one left off, with the same
// text, and no file can keep it from starting.
#include "engine/prefix_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "fake_engine.h"

namespace deltaserve {
namespace {

namespace fs = std::filesystem;

constexpr FakeLimits kLimits{
    .num_blocks = 200, .max_num_seqs = 4, .max_num_batched_tokens = 512, .num_snapshots = 16};

class PrefixStoreTest : public testing::Test {
 protected:
  PrefixStoreTest()
      : directory_(fs::temp_directory_path() /
                   ("prefix_store_" +
                    std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) +
                    std::to_string(testing::UnitTest::GetInstance()->random_seed()) + "_" +
                    std::to_string(::getpid()))) {
    EXPECT_TRUE(check_prefix_directory(directory_));
    options_ = {.directory = directory_, .max_bytes = 1 << 20, .fingerprint = "model"};
  }
  ~PrefixStoreTest() override { fs::remove_all(directory_); }

  static Request named(Request request, std::string name) {
    request.cache_name = std::move(name);
    return request;
  }

  static RequestRecord run(FakeEngine& engine, RequestId id, const Request& request) {
    engine.core.add(id, request);
    engine.run();
    return engine.recorder.records.at(id);
  }

  // A life of the engine: opens the store, runs the requests, saves.
  std::vector<RequestRecord> life(const std::vector<Request>& requests,
                                  const FakeLimits& limits = kLimits) const {
    FakeEngine engine(limits);
    engine.core.open_store(options_);
    std::vector<RequestRecord> records;
    for (const Request& request : requests) {
      records.push_back(run(engine, records.size() + 1, request));
    }
    engine.core.save_prefixes();
    return records;
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(directory_)) out.push_back(entry.path());
    return out;
  }

  fs::path directory_;
  PrefixStoreOptions options_;
};

TEST_F(PrefixStoreTest, ANamedPrefixIsFoundAfterARestart) {
  const Request prompt = make_request(300, 20);
  const RequestRecord first = life({named(prompt, "agent")}).front();
  ASSERT_EQ(files().size(), 1U);
  const RequestRecord second = life({prompt}).front();
  EXPECT_EQ(second.num_cached_tokens, 256);
  EXPECT_EQ(second.choices.at(0).tokens, first.choices.at(0).tokens);
  Request longer = prompt;
  const Request tail = make_request(100, 1, 9);
  longer.prompt_token_ids.insert(longer.prompt_token_ids.end(), tail.prompt_token_ids.begin(),
                                 tail.prompt_token_ids.end());
  const RequestRecord third = life({longer}).front();
  EXPECT_EQ(third.num_cached_tokens, 256);
  EXPECT_EQ(third.choices.at(0).tokens, run_alone(longer).choices.at(0).tokens);
}

TEST_F(PrefixStoreTest, OnlyWhatHasANameIsKeptAndOnlyWithinItsSalt) {
  life({make_request(300, 5)});
  EXPECT_TRUE(files().empty());
  Request salted = named(make_request(300, 5), "agent");
  salted.cache_salt = "mine";
  life({salted});
  EXPECT_EQ(life({make_request(300, 5)}).front().num_cached_tokens, 0);
  EXPECT_EQ(life({salted}).front().num_cached_tokens, 256);
}

TEST_F(PrefixStoreTest, TheLatestPrefixTakesTheFileOfItsName) {
  const Request longer = make_request(500, 5);
  Request shorter = longer;
  shorter.prompt_token_ids.resize(200);
  life({named(shorter, "agent"), named(longer, "agent")});
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(life({longer}).front().num_cached_tokens, 448);
  EXPECT_EQ(files().size(), 1U) << "a life that names nothing leaves the files";
}

TEST_F(PrefixStoreTest, WhatLiesOnTheHostIsWrittenToo) {
  FakeLimits limits = kLimits;
  limits.num_blocks = 40;
  limits.num_snapshots = 3;
  limits.swap_space_bytes = 1 << 16;
  const Request prompt = make_request(300, 20);
  std::vector<Request> requests{named(prompt, "agent")};
  for (uint64_t i = 2; i < 6; ++i) requests.push_back(make_request(500, 5, i));
  life(requests, limits);
  const RequestRecord again = life({prompt}).front();
  EXPECT_EQ(again.num_cached_tokens, 256);
  EXPECT_EQ(again.choices.at(0).tokens, run_alone(prompt).choices.at(0).tokens);
}

TEST_F(PrefixStoreTest, TheNewestStayWithinTheBytes) {
  std::vector<Request> requests;
  for (uint64_t i = 0; i < 6; ++i) {
    requests.push_back(named(make_request(300, 5, i), "agent " + std::to_string(i)));
  }
  life({requests[0]});
  const auto one = static_cast<int64_t>(fs::file_size(files().front()));
  options_.max_bytes = 3 * one + 10;
  life(requests);
  EXPECT_EQ(files().size(), 3U);
  const auto again = life(requests);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(again[i].num_cached_tokens, i < 3 ? 0 : 256) << i;
  options_.max_bytes = one - 1;
  life({requests[5]});
  EXPECT_TRUE(files().empty());
}

TEST_F(PrefixStoreTest, NoFileKeepsTheEngineFromStarting) {
  const Request prompt = named(make_request(300, 5), "agent");
  life({prompt});
  const fs::path file = files().front();
  std::string bytes(fs::file_size(file), '\0');
  std::ifstream(file, std::ios::binary).read(bytes.data(), static_cast<int64_t>(bytes.size()));
  const auto write = [&file](const std::string& text) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  };
  std::string changed = bytes;
  changed[bytes.size() / 2] = static_cast<char>(changed[bytes.size() / 2] ^ 1);
  for (const std::string& text :
       {std::string(), bytes.substr(0, 100), changed, bytes + "x", std::string(5000, '\xFF')}) {
    write(text);
    FakeEngine engine(kLimits);
    engine.core.open_store(options_);
    const RequestRecord record = run(engine, 1, prompt);
    EXPECT_EQ(record.num_cached_tokens, 0);
    EXPECT_EQ(record.choices.at(0).reason, FinishReason::kLength);
  }
  write(bytes);
  options_.fingerprint = "another model";
  EXPECT_EQ(life({make_request(300, 5)}).front().num_cached_tokens, 0);
  fs::create_directory(directory_ / "directory.prefix");
  options_.fingerprint = "model";
  EXPECT_EQ(life({make_request(300, 5)}).front().num_cached_tokens, 256);
}

TEST_F(PrefixStoreTest, AFullPoolTakesWhatFits) {
  const Request large = named(make_request(2000, 5, 1), "large");
  const Request small = named(make_request(200, 5, 2), "small");
  life({large, small});
  FakeLimits limits = kLimits;
  limits.num_blocks = 60;
  limits.num_snapshots = 1;
  const auto records = life({small}, limits);
  EXPECT_EQ(records.front().choices.at(0).tokens, run_alone(small).choices.at(0).tokens);
}

TEST(PrefixDirectory, IsMadeOrRefused) {
  const fs::path directory =
      fs::temp_directory_path() / ("prefix_directory_" + std::to_string(::getpid()));
  EXPECT_TRUE(check_prefix_directory(directory / "a" / "b"));
  std::ofstream(directory / "file") << "x";
  const auto refused = check_prefix_directory(directory / "file");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--prefix-cache-dir"), std::string::npos);
  fs::remove_all(directory);
}

}  // namespace
}  // namespace deltaserve
