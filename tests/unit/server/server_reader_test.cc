// Reading requests: the header, bodies by length and in chunks, in pieces of any size.
#include <gtest/gtest.h>

#include "server/chunked_body.h"
#include "server/request_reader.h"

namespace deltaserve {
namespace {

// Feeds `bytes` in pieces; the requests as "METHOD/path body", then "error N" if one is not valid.
std::vector<std::string> read_all(std::string_view bytes, size_t piece,
                                  const RequestReader::Limits& limits = {}) {
  RequestReader reader(limits);
  std::vector<std::string> seen;
  std::string input;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    input += bytes.substr(at, piece);
    for (;;) {
      const auto event = reader.feed(input);
      if (event == RequestReader::Event::kNeedMore) {
        break;
      }
      if (event == RequestReader::Event::kError) {
        seen.push_back("error " + std::to_string(reader.status()));
        return seen;
      }
      if (event == RequestReader::Event::kComplete) {
        const HttpRequest request = reader.take();
        seen.push_back(request.method + request.path + " " + request.body);
      }
    }
  }
  return seen;
}

std::string chunked(std::string_view chunks) {
  return "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(chunks);
}

TEST(ServerRequestReaderTest, GivesTheSameRequestsHoweverTheInputIsCut) {
  const std::string bytes =
      "POST /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nX-Two: 1\r\n\r\nabc"
      "GET /d HTTP/1.1\r\nHost: h\r\n\r\n" +
      chunked("2\r\nxy\r\n00A;n=\"v\"\r\n0123456789\r\n0;last\r\nT: 1\r\nU:\r\n\r\n") +
      "\r\nPUT /e HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(read_all(bytes, piece),
              (std::vector<std::string>{"POST/a abc", "GET/d ", "POST/c xy0123456789", "PUT/e "}))
        << piece;
  }
}

TEST(ServerRequestReaderTest, TakesTheShortestChunkedBodiesAndTrailers) {
  const std::string next = "GET /d HTTP/1.1\r\nHost: h\r\n\r\n";
  for (const char* chunks :
       {"0\r\n\r\n", "0\r\na:\r\n\r\n", "0\r\na\r\n\r\n", "00\r\n:\r\n\r\n", "0 \r\n\r\n"}) {
    const std::string bytes = chunked(chunks) + next;
    for (size_t piece = 1; piece <= bytes.size(); ++piece) {
      EXPECT_EQ(read_all(bytes, piece), (std::vector<std::string>{"POST/c ", "GET/d "}))
          << chunks << piece;
    }
  }
}

TEST(ServerRequestReaderTest, RefusesBrokenChunks) {
  for (const char* chunks :
       {"\r\n", "x\r\n", "-1\r\n", "0x1\r\n", "1\n", "1\r\nab\r\n", "1\r\na\n0\r\n\r\n", "1\ra",
        "0\r\n\n", "0\r\na: b\n\r\n", "0\r\n\r\r", "1;\x01\r\na\r\n", "fffffffffffffffff\r\n",
        "0000000000000000000000001\r\n", " 1\r\na\r\n", "1g\r\n"}) {
    const std::string bytes = chunked(chunks);
    for (const size_t piece : {size_t{1}, bytes.size()}) {
      EXPECT_EQ(read_all(bytes, piece), std::vector<std::string>{"error 400"}) << chunks;
    }
  }
}

TEST(ServerRequestReaderTest, LimitsWhatSurroundsTheChunks) {
  const std::string flood(70'000, 'x');
  EXPECT_EQ(read_all(chunked("1;" + flood), 1000), std::vector<std::string>{"error 400"});
  EXPECT_EQ(read_all(chunked("0\r\nt: " + flood), 1000), std::vector<std::string>{"error 400"});
}

TEST(ServerRequestReaderTest, LimitsBodiesOfBothKinds) {
  const RequestReader::Limits limits{.max_body_bytes = 10};
  const std::string whole(10, 'x');
  EXPECT_EQ(read_all(chunked("a\r\n" + whole + "\r\n0\r\n\r\n"), 7, limits),
            std::vector<std::string>{"POST/c " + whole});
  EXPECT_EQ(read_all(chunked("a\r\n" + whole + "\r\n1\r\nx"), 7, limits),
            std::vector<std::string>{"error 413"});
  EXPECT_EQ(read_all(chunked("fffffffffff\r\nx"), 7, limits),
            std::vector<std::string>{"error 413"});
  const std::string head = "POST /l HTTP/1.1\r\nHost: h\r\nContent-Length: ";
  EXPECT_EQ(read_all(head + "10\r\n\r\n" + whole, 7, limits),
            std::vector<std::string>{"POST/l " + whole});
  EXPECT_EQ(read_all(head + "11\r\n\r\n" + whole, 7, limits),
            std::vector<std::string>{"error 413"});
  EXPECT_EQ(read_all(head + "18446744073709551615\r\n\r\n" + whole, 7, limits),
            std::vector<std::string>{"error 413"});
}

TEST(ServerRequestReaderTest, RefusesHeadersThatCouldBeReadInTwoWays) {
  const std::string start = "POST /a HTTP/1.1\r\nHost: h\r\n";
  for (const auto& [fields, status] :
       {std::pair{"Content-Length: 1\r\nContent-Length: 2\r\n", 400},
        {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Transfer-Encoding: gzip, chunked\r\n", 501},
        {"Transfer-Encoding: gzip\r\n", 501},
        {"Host: other\r\n", 400},
        {"Content-Length: +1\r\n", 400},
        {"Content-Length : 1\r\n", 400}}) {
    EXPECT_EQ(read_all(start + fields + "\r\n", 1000),
              std::vector<std::string>{"error " + std::to_string(status)})
        << fields;
  }
  // Proxies may have taken the body of such a request to end elsewhere (RFC 9112, 6.1).
  EXPECT_EQ(read_all("POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 1000),
            std::vector<std::string>{"error 400"});
}

}  // namespace
}  // namespace deltaserve
