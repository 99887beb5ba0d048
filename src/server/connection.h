// One TCP connection on one io thread: keeps a read outstanding in every phase, so that a client
// that goes away is noticed at once. Bytes are written to the socket where they are sent; only what
// the socket does not take waits in the outbox. Deadlines are kept lazily, since a stream moves its
// own with every token: the timer is set anew when it runs out too early.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "server/server_options.h"
#include "server/transport.h"

namespace deltaserve {

class Connection final : public Transport, public std::enable_shared_from_this<Connection> {
 public:
  // `on_gone` is called once, on the io thread, after the connection has closed.
  Connection(boost::asio::ip::tcp::socket socket, const ServerOptions& options,
             std::function<void(Connection&)> on_gone);

  void start(std::shared_ptr<Protocol> protocol);
  void drain();

  void send(std::string_view bytes) override;
  size_t unsent_bytes() const override { return outbox_.size() - outbox_sent_; }
  void finish() override;
  void close() override;
  void set_deadline(std::chrono::milliseconds after) override;

 private:
  using ErrorCode = boost::system::error_code;
  using Clock = std::chrono::steady_clock;

  void read();
  void on_read(const ErrorCode& error, size_t size);
  void on_end_of_input();
  void offer_input();
  size_t write_some(std::string_view bytes);
  void wait_writable();
  void on_writable(const ErrorCode& error);
  void notify_sent();
  void on_all_sent();
  void arm_deadline();
  void on_deadline_timer();
  void arm_write_timer();

  boost::asio::ip::tcp::socket socket_;
  const ServerOptions* options_;
  std::function<void(Connection&)> on_gone_;
  std::shared_ptr<Protocol> protocol_;
  boost::asio::steady_timer deadline_timer_;
  Clock::time_point deadline_ = Clock::time_point::max();  // max: none
  bool deadline_armed_ = false;                            // a wait is in flight
  boost::asio::steady_timer write_timer_;
  std::array<char, 16384> read_buffer_;
  std::string input_;
  std::string outbox_;
  size_t outbox_sent_ = 0;  // of outbox_
  bool notice_posted_ = false;
  bool reading_ = false;
  bool finishing_ = false;  // finish() was called: no more input is looked at
  bool said_goodbye_ = false;
  bool input_ended_ = false;
  bool closed_ = false;
};

}  // namespace deltaserve
