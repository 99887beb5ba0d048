// What is refused before any connection, and a small server on loopback for the rest.
#include "media/media_fetcher.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "media/private_address.h"

namespace deltaserve {
namespace {

// Answers one connection after the other with the given texts, then stops.
class OneShotServer {
 public:
  explicit OneShotServer(std::vector<std::string> answers) : answers_(std::move(answers)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~OneShotServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  std::string url(std::string_view path, std::string_view host = "127.0.0.1") const {
    return "http://" + std::string(host) + ":" + std::to_string(port_) + std::string(path);
  }
  size_t served() const { return served_; }

 private:
  void serve() {
    for (const std::string& answer : answers_) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      char request[2048];
      EXPECT_GT(recv(client, request, sizeof(request), 0), 0);
      EXPECT_GE(send(client, answer.data(), answer.size(), MSG_NOSIGNAL), 0);
      close(client);
      ++served_;
    }
  }

  std::vector<std::string> answers_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<size_t> served_ = 0;
  std::thread thread_;
};

std::string ok(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + std::string(body);
}

std::string error_of(const FetchOptions& options, std::string_view url) {
  const auto fetched = MediaFetcher(options).fetch(url);
  return fetched ? "" : fetched.error().message;
}

bool is_private(const char* text) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    return is_private_address(reinterpret_cast<const sockaddr*>(&v4));
  }
  EXPECT_EQ(inet_pton(AF_INET6, text, &v6.sin6_addr), 1) << text;
  v6.sin6_family = AF_INET6;
  return is_private_address(reinterpret_cast<const sockaddr*>(&v6));
}

TEST(PrivateAddress, KnowsTheSpecialRanges) {
  for (const char* text :
       {"127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1",
        "ff02::1", "::ffff:127.0.0.1", "2002:7f00:1::", "64:ff9b::a00:1"}) {
    EXPECT_TRUE(is_private(text)) << text;
  }
  for (const char* text : {"8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111"}) {
    EXPECT_FALSE(is_private(text)) << text;
  }
}

TEST(MediaFetcher, RefusesHostsThatAreNotListed) {
  OneShotServer server({ok("x")});
  EXPECT_NE(error_of({}, server.url("/")).find("--allowed-media-domains"), std::string::npos);
  EXPECT_NE(error_of({{"example.org"}}, "https://example.org.evil.test/x.png").find("evil.test"),
            std::string::npos);
  EXPECT_NE(error_of({{"*.example.org"}}, "https://badexample.org/"), "");
  EXPECT_NE(error_of({{"example.org"}}, "https://example.org@127.0.0.1/").find("127.0.0.1"),
            std::string::npos);
  // The whole of it is not repeated in the answer.
  const std::string error = error_of({}, "http://" + std::string(9000, 'a'));
  EXPECT_NE(error.find("9007 bytes"), std::string::npos) << error;
  EXPECT_LT(error.size(), 200U);
  EXPECT_EQ(server.served(), 0U);
}

TEST(MediaFetcher, RefusesOtherSchemes) {
  for (const char* url : {"file:///etc/passwd", "ftp://example.org/x", "gopher://example.org/",
                          "x.png", "", "javascript:alert(1)"}) {
    EXPECT_NE(error_of({{"example.org", ""}}, url), "") << url;
  }
}

TEST(MediaFetcher, RefusesNamesThatLeadToThisMachine) {
  OneShotServer server({ok("secret")});
  EXPECT_NE(error_of({{"localhost"}}, server.url("/", "localhost")).find("not public"),
            std::string::npos);
  EXPECT_EQ(server.served(), 0U);
}

TEST(MediaFetcher, FetchesFromAListedAddress) {
  OneShotServer server({ok("picture")});
  const auto fetched = MediaFetcher({{"127.0.0.1"}}).fetch(server.url("/a.png"));
  ASSERT_TRUE(fetched.has_value()) << fetched.error().message;
  EXPECT_EQ(std::string(fetched->begin(), fetched->end()), "picture");
}

TEST(MediaFetcher, FollowsRedirectsToListedHostsOnly) {
  const std::string away =
      "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest\r\nContent-Length: 0\r\n"
      "Connection: close\r\n\r\n";
  const std::string round =
      "HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  OneShotServer server({away, round, ok("here"), round, round, round, round});
  const FetchOptions options{{"127.0.0.1"}};
  EXPECT_NE(error_of(options, server.url("/1")).find("169.254.169.254"), std::string::npos);
  EXPECT_EQ(error_of(options, server.url("/2")), "");
  EXPECT_NE(error_of(options, server.url("/3")).find("redirected"), std::string::npos);
}

TEST(MediaFetcher, KeepsItsLimits) {
  OneShotServer server(
      {ok(std::string(5000, 'x')),
       "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + std::string(5000, 'x'),
       "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"});
  const FetchOptions options{{"127.0.0.1"}, 1000};
  EXPECT_NE(error_of(options, server.url("/")).find("larger than 1000"), std::string::npos);
  EXPECT_NE(error_of(options, server.url("/")).find("larger than 1000"), std::string::npos);
  EXPECT_NE(error_of(options, server.url("/")).find("404"), std::string::npos);
}

}  // namespace
}  // namespace deltaserve
