// Parts that need no socket: paths, router, histogram, workers, budget, keys, ids, log lines.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "server/auth.h"
#include "server/byte_budget.h"
#include "server/client_request_id.h"
#include "server/histogram.h"
#include "server/http_message.h"
#include "server/request_log.h"
#include "server/response_head.h"
#include "server/router.h"
#include "server/worker_pool.h"

namespace deltaserve {
namespace {

TEST(ServerMessageTest, PathsAreDecodedAndCut) {
  EXPECT_EQ(path_of_target("/v1/models/a%2Fb?x=%20"), "/v1/models/a/b");
  EXPECT_EQ(path_of_target("http://host:1/v1?x"), "/v1");
  EXPECT_EQ(path_of_target("http://host"), "/");
  EXPECT_EQ(path_of_target("/a/"), "/a");
  EXPECT_EQ(path_of_target("/%zz%4"), "/%zz%4");
  EXPECT_EQ(path_of_target("/"), "/");
}

TEST(ServerMessageTest, ChunksCarryTheirSize) {
  std::string out;
  append_chunk("0123456789abcdef0", out);
  EXPECT_EQ(out, "11\r\n0123456789abcdef0\r\n");
}

TEST(ServerRouterTest, TellsAMissingPathFromAWrongMethod) {
  Router router;
  for (const char* method : {"GET", "POST"}) {
    Route route;
    route.method = method;
    route.path = "/a";
    router.add(std::move(route));
  }
  Error error;
  std::string allow;
  EXPECT_NE(router.find("HEAD", "/a", error, allow), nullptr);
  allow.clear();
  EXPECT_EQ(router.find("PUT", "/a", error, allow), nullptr);
  EXPECT_EQ(error.code, ErrorCode::kMethodNotAllowed);
  EXPECT_EQ(allow, "GET, HEAD, POST, OPTIONS");
  allow.clear();
  EXPECT_EQ(router.find("GET", "/b", error, allow), nullptr);
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
}

TEST(ServerHistogramTest, CountsCumulatively) {
  Histogram histogram({1.0, 2.5});
  for (const double value : {0.5, 1.0, 2.0, 99.0}) {
    histogram.observe(value);
  }
  std::string text;
  histogram.append("h", "help", "a=\"b\"", text);
  EXPECT_EQ(text,
            "# HELP h help\n# TYPE h histogram\nh_bucket{a=\"b\",le=\"1\"} 2\n"
            "h_bucket{a=\"b\",le=\"2.5\"} 3\nh_bucket{a=\"b\",le=\"+Inf\"} 4\n"
            "h_sum{a=\"b\"} 102.5\nh_count{a=\"b\"} 4\n");
}

TEST(ServerWorkerPoolTest, RunsJobsRefusesOverflowAndSurvivesExceptions) {
  WorkerPool pool(1, 2);
  std::latch busy(1);
  std::latch go(1);
  std::latch done(2);
  ASSERT_TRUE(pool.post([&] {
    busy.count_down();
    go.wait();
    throw std::runtime_error("a job failed");
  }));
  busy.wait();
  EXPECT_TRUE(pool.post([&] { done.count_down(); }));
  EXPECT_TRUE(pool.post([&] { done.count_down(); }));
  EXPECT_FALSE(pool.post([] {}));
  go.count_down();
  done.wait();
  pool.stop();
  EXPECT_FALSE(pool.post([] {}));
}

TEST(ServerByteBudgetTest, GivesBackWhatSharesHold) {
  ByteBudget budget(100);
  ByteBudget::Share first(budget);
  EXPECT_TRUE(first.grow_to(60));
  EXPECT_TRUE(first.grow_to(60));
  EXPECT_FALSE(budget.has_room_for(41));
  EXPECT_TRUE(budget.has_room_for(40));
  {
    ByteBudget::Share second(budget);
    EXPECT_FALSE(second.grow_to(41));
    EXPECT_TRUE(second.grow_to(40));
    EXPECT_EQ(budget.used(), 100U);
    ByteBudget::Share moved = std::move(second);
    EXPECT_EQ(budget.used(), 100U);
    moved = ByteBudget::Share(budget);
    EXPECT_EQ(budget.used(), 60U);
  }
  first.release();
  EXPECT_EQ(budget.used(), 0U);
  EXPECT_FALSE(budget.has_room_for(SIZE_MAX));
  EXPECT_FALSE(first.grow_to(SIZE_MAX));
  EXPECT_EQ(budget.used(), 0U);
}

TEST(ServerAuthTest, TakesEitherHeader) {
  const Authenticator keys({"first", "second key"});
  EXPECT_TRUE(keys.allows("Bearer first", ""));
  EXPECT_TRUE(keys.allows("BEARER second key", ""));
  EXPECT_TRUE(keys.allows("", "first"));
  EXPECT_TRUE(keys.allows("Bearer wrong", "first"));
  EXPECT_TRUE(keys.allows("Bearer first", "wrong"));
  for (const char* wrong : {"", "first", "Bearer", "Bearer ", "Bearer firs", "Bearer firstf",
                            "Bearer firstfirst", "Basic first", "Bearer  first"}) {
    EXPECT_FALSE(keys.allows(wrong, "")) << wrong;
    EXPECT_FALSE(keys.allows("", wrong == std::string_view("first") ? "x" : wrong)) << wrong;
  }
  EXPECT_TRUE(Authenticator({}).allows("", ""));
  EXPECT_FALSE(Authenticator({""}).allows("", ""));
}

TEST(ServerRequestIdTest, KeepsOnlyIdsThatForgeNothing) {
  EXPECT_EQ(choose_request_id("a-1_b/{}%"), "a-1_b/{}%");
  EXPECT_EQ(choose_request_id(std::string(128, 'x')), std::string(128, 'x'));
  for (const std::string& wanted :
       {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\nb"),
        std::string("\xC3\xA9"), std::string("\x7F")}) {
    const std::string made = choose_request_id(wanted);
    EXPECT_TRUE(made.starts_with("req-")) << made;
    EXPECT_EQ(made.size(), 36U);
    EXPECT_NE(made, choose_request_id(wanted));
  }
}

TEST(ServerRequestLogTest, WritesOneLineWithWhatIsKnown) {
  GenerationRecord record;
  record.request_id = "r1";
  record.answer_id = "chatcmpl-2";
  record.route = "/v1/chat/completions";
  record.stream = true;
  record.n = 3;
  record.usage = {.prompt_tokens = 12, .completion_tokens = 50, .cached_tokens = 8};
  record.usage.reasoning_tokens = 30;
  record.finish_reasons = {{"length", 1}, {"stop", 2}};
  record.queue = 0.0001;
  record.first_token = 0.25;
  record.total = 1.5;
  EXPECT_EQ(generation_line(record),
            "request id=r1 answer=chatcmpl-2 route=/v1/chat/completions status=200 "
            "outcome=finished stream=true n=3 finish=length,stopx2 prompt=12 cached=8 "
            "completion=50 reasoning=30 queue_ms=0.1 prefill_ms=- ttft_ms=250.0 itl_ms=- "
            "total_ms=1500.0");
  record.finish_reasons.clear();
  record.outcome = GenerationOutcome::kFailed;
  record.reason = "broke\nrequest id=forged";
  EXPECT_TRUE(
      generation_line(record).ends_with("total_ms=1500.0 reason=\"broke\\x0arequest id=forged\""));
}

TEST(ServerRequestLogTest, CutsAndCleansForeignText) {
  EXPECT_EQ(printable(std::string("a\x1b[31m\0\r", 8)), "a\\x1b[31m\\x00\\x0d");
  EXPECT_EQ(printable(std::string(1000, 'x')).size(), 300U);
}

}  // namespace
}  // namespace deltaserve
