// POSIX sockets with a receive timeout, so that a test fails instead of hanging.
#include "raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <thread>

namespace deltaserve {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

bool wait_until(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

RawClient::RawClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  const timeval timeout{kPatience.count(), 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    throw std::runtime_error("cannot connect");
  }
}

RawClient::~RawClient() {
  close();
}

void RawClient::close() {
  if (socket_ >= 0) {
    ::close(socket_);
    socket_ = -1;
  }
}

void RawClient::reset() {
  const linger now{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close();
}

void RawClient::shutdown_write() {
  ::shutdown(socket_, SHUT_WR);
}

void RawClient::set_receive_buffer(int bytes) {
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

void RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return;
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

bool RawClient::fill() {
  std::array<char, 65536> data{};
  const ssize_t size = ::recv(socket_, data.data(), data.size(), 0);
  if (size <= 0) {
    return false;
  }
  buffer_.append(data.data(), static_cast<size_t>(size));
  return true;
}

std::string RawClient::read_until(std::string_view text) {
  for (;;) {
    if (const size_t found = buffer_.find(text); found != std::string::npos) {
      std::string out = buffer_.substr(0, found + text.size());
      buffer_.erase(0, out.size());
      return out;
    }
    if (!fill()) {
      return "";
    }
  }
}

RawResponse RawClient::read_response(bool head_only) {
  RawResponse response;
  const std::string head = read_until("\r\n\r\n");
  if (head.size() < 12) {
    return response;
  }
  const int status = std::stoi(head.substr(9, 3));
  size_t line = head.find("\r\n") + 2;
  while (line < head.size() - 2) {
    const size_t end = head.find("\r\n", line);
    const size_t colon = head.find(": ", line);
    if (colon < end) {
      response.headers[lower(head.substr(line, colon - line))] =
          head.substr(colon + 2, end - colon - 2);
    }
    line = end + 2;
  }
  if (head_only || status == 204 || status == 100) {
    response.status = status;
    return response;
  }
  if (response.headers.contains("content-length")) {
    const size_t size = std::stoul(response.headers["content-length"]);
    while (buffer_.size() < size) {
      if (!fill()) {
        return response;
      }
    }
    response.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
  } else if (response.headers.contains("transfer-encoding")) {
    for (;;) {
      const std::string size_line = read_until("\r\n");
      if (size_line.empty()) {
        return response;
      }
      const size_t size = std::stoul(size_line, nullptr, 16);
      while (buffer_.size() < size + 2) {
        if (!fill()) {
          return response;
        }
      }
      response.body += buffer_.substr(0, size);
      buffer_.erase(0, size + 2);
      if (size == 0) {
        break;
      }
    }
  } else {
    while (fill()) {
    }
    response.body = std::move(buffer_);
  }
  response.status = status;
  return response;
}

bool RawClient::closed_within(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd entry{socket_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&entry, 1, static_cast<int>(left.count())) <= 0) {
      return false;
    }
    if (!fill()) {
      return true;
    }
  }
}

std::string http_request(std::string_view method, std::string_view path, std::string_view body,
                         std::string_view headers) {
  std::string out = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n" +
                    std::string(headers);
  if (!body.empty()) {
    out +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return out + "\r\n" + std::string(body);
}

}  // namespace deltaserve
