// Non-blocking reads into one buffer that all connections share.
#include "stream_connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>

namespace deltaserve::bench {
namespace {

constexpr std::string_view kEvent = "data: {";
constexpr std::string_view kDone = "data: [DONE]";

std::array<char, 1 << 18>& read_buffer() {
  static thread_local std::array<char, 1 << 18> buffer;
  return buffer;
}

}  // namespace

StreamConnection::StreamConnection(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    throw std::runtime_error("cannot connect");
  }
  ::fcntl(socket_, F_SETFL, O_NONBLOCK);
}

StreamConnection::~StreamConnection() {
  ::close(socket_);
}

void StreamConnection::send(std::string_view request) {
  start_ = Clock::now();
  while (!request.empty()) {
    const ssize_t sent = ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      request.remove_prefix(static_cast<size_t>(sent));
    } else if (errno != EAGAIN) {
      throw std::runtime_error("cannot send");
    }
  }
}

bool StreamConnection::read() {
  auto& buffer = read_buffer();
  const ssize_t size = ::recv(socket_, buffer.data(), buffer.size(), 0);
  if (size < 0 && errno == EAGAIN) {
    return true;
  }
  if (size <= 0) {
    throw std::runtime_error("the stream was cut off");
  }
  num_bytes_ += size;
  const std::string_view bytes(buffer.data(), static_cast<size_t>(size));
  count(bytes, Clock::now());
  read_usage(bytes);
  return !done_;
}

void StreamConnection::count(std::string_view bytes, Clock::time_point now) {
  std::string joined;
  if (!carry_.empty()) {
    joined = carry_;
    joined += bytes;
    bytes = joined;
  }
  if (!checked_status_) {
    checked_status_ = true;
    if (!bytes.starts_with("HTTP/1.1 200")) {
      throw std::runtime_error("the server answered " + std::string(bytes));
    }
  }
  size_t from = 0;
  for (size_t at = 0; (at = bytes.find(kEvent, from)) != std::string_view::npos;
       from = at + kEvent.size()) {
    if (++num_events_ == 1) {
      continue;  // the role, without a token
    }
    if (num_events_ == 2) {
      first_ = now;
    } else {
      gaps_.push_back(std::chrono::duration<float>(now - last_).count());
    }
    last_ = now;
  }
  done_ = bytes.find(kDone, from) != std::string_view::npos;
  // As long as a mark that is not whole, without any that has been counted.
  const size_t keep = std::min(kDone.size() - 1, bytes.size() - from);
  carry_ = bytes.substr(bytes.size() - keep);
}

void StreamConnection::read_usage(std::string_view bytes) {
  constexpr size_t kTail = 1024;  // longer than the chunk that carries usage
  constexpr std::string_view kKey = "\"completion_tokens\":";
  tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kTail));
  tail_.erase(0, tail_.size() - std::min(tail_.size(), kTail));
  if (!done_) {
    return;
  }
  if (const size_t at = tail_.find(kKey); at != std::string::npos) {
    std::from_chars(tail_.data() + at + kKey.size(), tail_.data() + tail_.size(), num_tokens_);
  }
}

double StreamConnection::first_seconds() const {
  return std::chrono::duration<double>(first_ - start_).count();
}

}  // namespace deltaserve::bench
