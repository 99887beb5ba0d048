// Reading traces, and prompts, answers and borders out of their pieces.
#include <gtest/gtest.h>

#include "sim_test_util.h"
#include "trace.h"

namespace deltaserve {
namespace {

constexpr const char* kHead = R"({"type":"trace","version":1}
{"type":"tools","id":0,"functions":[],"tokens":[[5,12],[1001,30],[6,180]]}
{"type":"message","id":0,"role":"system","text":[[1002,70]],"tokens":[[1002,70],[1,2]]}
{"type":"message","id":1,"role":"user","text":[[1003,10]],"tokens":[[2,3],[1003,10],[1,2]]}
{"type":"message","id":2,"role":"assistant","text":[[1005,7]],"tokens":[[4,3],[9,2],[1004,20],[11,3],[1005,7],[1,2]],"reasoning":[[1004,20]],"calls":[],"thinking":true,"short":[[4,3],[1005,7],[1,2]],"header":5}
{"type":"message","id":3,"role":"tool","text":[[1006,9]],"tokens":[[3,3],[1006,9],[14,4]]}
{"type":"message","id":4,"role":"tool","text":[[1007,9]],"tokens":[[3,3],[1007,9],[14,4]]}
{"type":"message","id":5,"role":"user","text":[[1008,6]],"tokens":[[2,3],[1008,6],[1,2]]}
)";

std::string request(const std::string& fields) {
  return R"({"type":"request","session":0,"kind":"step","at":0.0,"pause":0.5,"thinking":true,)" +
         fields + "}\n";
}

const std::string kFirst =
    request(R"("id":0,"after":[],"tools":0,"messages":[0,1],"reply":2,"prompt_tokens":314,)"
            R"("output_tokens":31,"last_query":1)");
const std::string kStep =
    request(R"("id":1,"after":[0],"tools":0,"messages":[0,1,2,3,4],"reply":2,"prompt_tokens":383,)"
            R"("output_tokens":31,"last_query":1)");
const std::string kQuery = request(
    R"("id":2,"after":[1],"tools":0,"messages":[0,1,2,3,4,5],"reply":2,"prompt_tokens":369,)"
    R"("output_tokens":31,"last_query":5)");

TEST(SimTrace, GivesPromptsAndAnswers) {
  const TraceFile file(kHead + kFirst + kStep + kQuery);
  const Result<Trace> trace = read_trace(file.path());
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  ASSERT_EQ(trace->requests.size(), 3U);
  const auto tokens = [&](size_t i) {
    return to_tokens(prompt_runs(*trace, trace->requests[i]), 1000);
  };
  const std::vector<int32_t> first = tokens(0);
  const std::vector<int32_t> step = tokens(1);
  const std::vector<int32_t> query = tokens(2);
  EXPECT_EQ(first.size(), 314U);
  EXPECT_EQ(step.size(), 383U);

  // The next step begins with the prompt and the whole answer.
  std::vector<int32_t> whole = first;
  const std::vector<int32_t> answer = to_tokens(output_runs(*trace, trace->requests[0]), 1000);
  EXPECT_EQ(answer.size(), 31U);
  whole.insert(whole.end(), answer.begin(), answer.end());
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), step.begin()));

  // A new user message leaves the reasoning out: the prompts part behind the answer's role.
  const auto parted = std::mismatch(step.begin(), step.end(), query.begin(), query.end()).first;
  EXPECT_EQ(parted - step.begin(), 314 - 2);
}

TEST(SimTrace, BordersAreWhereMessagesBegin) {
  const TraceFile file(kHead + kFirst + kStep + kQuery);
  const Result<Trace> trace = read_trace(file.path());
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  // Tools and system, user, header.
  EXPECT_EQ(message_borders(*trace, trace->requests[0]), (std::vector<int64_t>{0, 294, 309}));
  // Neighbouring tool results are one message.
  EXPECT_EQ(message_borders(*trace, trace->requests[1]),
            (std::vector<int64_t>{0, 294, 309, 346, 378}));
}

TEST(SimTrace, OneSeedGivesOneBeginning) {
  const std::vector<int32_t> longer = to_tokens(std::vector<TokenRun>{{7, 100}}, 5000);
  const std::vector<int32_t> shorter = to_tokens(std::vector<TokenRun>{{7, 60}}, 5000);
  const std::vector<int32_t> other = to_tokens(std::vector<TokenRun>{{8, 60}}, 5000);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
  EXPECT_NE(shorter, other);
  for (const int32_t token : longer) EXPECT_TRUE(token >= 0 && token < 5000);
}

TEST(SimTrace, RefusesWhatDoesNotFitTogether) {
  const auto error_of = [](const std::string& text) {
    const TraceFile file(text);
    const Result<Trace> trace = read_trace(file.path());
    return trace ? std::string() : trace.error().message;
  };
  EXPECT_NE(error_of("{\"type\":\"trace\",\"version\":2}\n").find("version 1"), std::string::npos);
  EXPECT_NE(error_of("{\"type\":\"poem\"}\n").find("poem"), std::string::npos);
  EXPECT_NE(error_of("not json\n").find(":1:"), std::string::npos);
  std::string wrong = kFirst;
  wrong.replace(wrong.find("314"), 3, "315");
  EXPECT_NE(error_of(kHead + wrong).find("314"), std::string::npos);
  std::string waits = kFirst;
  waits.replace(waits.find("\"after\":[]"), 10, "\"after\":[5]");
  EXPECT_NE(error_of(kHead + waits).find("waits"), std::string::npos);
  EXPECT_FALSE(read_trace("/nowhere/trace.jsonl").has_value());
}

}  // namespace
}  // namespace deltaserve
