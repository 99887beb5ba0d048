// Sender and receiver threads over socket pairs made through a listening socket.
#include "loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace deltaserve::bench {
namespace {

struct Pair {
  int sender = -1;
  int receiver = -1;
};

std::vector<Pair> connect_pairs(int count) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, generic, length) != 0 || ::listen(listener, 64) != 0 ||
      ::getsockname(listener, generic, &length) != 0) {
    throw std::runtime_error("cannot listen on loopback");
  }
  std::vector<Pair> pairs;
  for (int i = 0; i < count; ++i) {
    Pair pair;
    pair.receiver = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(pair.receiver, generic, length) != 0) {
      throw std::runtime_error("cannot connect on loopback");
    }
    pair.sender = ::accept(listener, nullptr, nullptr);
    const int on = 1;
    ::setsockopt(pair.sender, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    pairs.push_back(pair);
  }
  ::close(listener);
  return pairs;
}

double thread_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void receive(const std::vector<Pair>& pairs, int64_t total) {
  const int poll = ::epoll_create1(0);
  for (const Pair& pair : pairs) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = pair.receiver}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, pair.receiver, &event);
  }
  std::array<epoll_event, 256> events;
  std::vector<char> buffer(1 << 18);
  while (total > 0) {
    const int ready = ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      total -= ::recv(events[static_cast<size_t>(i)].data.fd, buffer.data(), buffer.size(), 0);
    }
  }
  ::close(poll);
}

}  // namespace

LoopbackResult measure_loopback(int connections, int64_t messages, int64_t bytes) {
  const std::vector<Pair> pairs = connect_pairs(connections);
  const std::string message(static_cast<size_t>(bytes), 'x');
  std::thread receiver([&] { receive(pairs, messages * bytes); });
  const auto begin = std::chrono::steady_clock::now();
  const double cpu = thread_cpu_seconds();
  for (int64_t i = 0; i < messages; ++i) {
    const Pair& pair = pairs[static_cast<size_t>(i) % pairs.size()];
    if (::send(pair.sender, message.data(), message.size(), MSG_NOSIGNAL) != bytes) {
      throw std::runtime_error("cannot send on loopback");
    }
  }
  LoopbackResult result;
  result.sender_cpu_us = (thread_cpu_seconds() - cpu) * 1e6 / static_cast<double>(messages);
  receiver.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  result.messages_per_second = static_cast<double>(messages) / seconds.count();
  for (const Pair& pair : pairs) {
    ::close(pair.sender);
    ::close(pair.receiver);
  }
  return result;
}

}  // namespace deltaserve::bench
