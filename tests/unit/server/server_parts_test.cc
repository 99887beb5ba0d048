// Parts that need no socket: reader, paths, router, histogram, workers.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "server/histogram.h"
#include "server/http_message.h"
#include "server/request_reader.h"
#include "server/response_head.h"
#include "server/router.h"
#include "server/worker_pool.h"

namespace deltaserve {
namespace {

TEST(ServerRequestReaderTest, GivesTheSameRequestsHoweverTheInputIsCut) {
  const std::string bytes =
      "POST /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nX-Two: 1\r\n\r\nabc"
      "GET /d HTTP/1.1\r\nHost: h\r\n\r\n"
      "POST /e HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    RequestReader reader({});
    std::vector<std::string> seen;
    std::string input;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      input += bytes.substr(at, piece);
      for (;;) {
        const auto event = reader.feed(input);
        ASSERT_NE(event, RequestReader::Event::kError) << reader.message();
        if (event == RequestReader::Event::kNeedMore) {
          break;
        }
        if (event == RequestReader::Event::kComplete) {
          const HttpRequest request = reader.take();
          seen.push_back(request.method + request.path + request.body);
        }
      }
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"POST/aabc", "GET/d", "POST/exy"})) << piece;
  }
}

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

}  // namespace
}  // namespace deltaserve
