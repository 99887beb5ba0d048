// One TCP connection on one io thread: keeps a read outstanding in every phase, so that a client
// that goes away is noticed at once, and at most one write.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
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
  size_t unsent_bytes() const override { return queued_.size() + writing_.size() - written_; }
  void finish() override;
  void close() override;
  void set_deadline(std::chrono::milliseconds after) override;

 private:
  using ErrorCode = boost::system::error_code;

  void read();
  void on_read(const ErrorCode& error, size_t size);
  void on_end_of_input();
  void offer_input();
  void write();
  void on_written(const ErrorCode& error, size_t size);
  void on_all_sent();
  void arm(boost::asio::steady_timer& timer, std::chrono::milliseconds after,
           void (Connection::*handler)());
  void on_deadline();

  boost::asio::ip::tcp::socket socket_;
  const ServerOptions* options_;
  std::function<void(Connection&)> on_gone_;
  std::shared_ptr<Protocol> protocol_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer write_timer_;
  std::array<char, 16384> read_buffer_;
  std::string input_;
  std::string queued_;  // waits for the write in flight
  std::string writing_;
  size_t written_ = 0;  // of writing_
  bool reading_ = false;
  bool finishing_ = false;  // finish() was called: no more input is looked at
  bool said_goodbye_ = false;
  bool input_ended_ = false;
  bool closed_ = false;
};

}  // namespace deltaserve
