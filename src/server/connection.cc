// Connection: callbacks that all run on the connection's io thread.
#include "server/connection.h"

#include <spdlog/spdlog.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace deltaserve {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// What a client may send ahead while its request is being answered; reading then pauses, and with
// it the early notice of a disconnect, until the answer is complete.
constexpr size_t kMaxReadAhead = size_t{64} << 10;
// Sent bytes at the front of the outbox beyond which it is moved together.
constexpr size_t kMaxSentPrefix = size_t{64} << 10;

}  // namespace

Connection::Connection(tcp::socket socket, const ServerOptions& options,
                       std::function<void(Connection&)> on_gone)
    : socket_(std::move(socket)),
      options_(&options),
      on_gone_(std::move(on_gone)),
      deadline_timer_(socket_.get_executor()),
      write_timer_(socket_.get_executor()) {}

void Connection::start(std::shared_ptr<Protocol> protocol) {
  protocol_ = std::move(protocol);
  ErrorCode ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  set_deadline(options_->idle_timeout);
  read();
}

void Connection::drain() {
  if (!closed_) {
    protocol_->drain();
  }
}

void Connection::read() {
  if (reading_ || closed_ || input_ended_ || (!finishing_ && input_.size() >= kMaxReadAhead)) {
    return;
  }
  reading_ = true;
  socket_.async_read_some(asio::buffer(read_buffer_),
                          [self = shared_from_this()](const ErrorCode& error, size_t size) {
                            self->on_read(error, size);
                          });
}

void Connection::on_read(const ErrorCode& error, size_t size) {
  reading_ = false;
  if (closed_) {
    return;
  }
  if (error == asio::error::eof) {
    on_end_of_input();
    return;
  }
  if (error) {
    close();
    return;
  }
  if (!finishing_) {
    input_.append(read_buffer_.data(), size);
    offer_input();
  }
  read();
}

void Connection::on_end_of_input() {
  input_ended_ = true;
  if (finishing_ && !said_goodbye_) {
    return;  // the answer is still being sent
  }
  if (finishing_ || !protocol_->on_peer_closed()) {
    close();
    return;
  }
  finish();
}

void Connection::offer_input() {
  if (closed_ || finishing_ || input_.empty()) {
    return;
  }
  try {
    protocol_->on_bytes(input_);
  } catch (const std::exception& error) {
    spdlog::error("a connection failed: {}", error.what());
    close();
  }
}

void Connection::send(std::string_view bytes) {
  if (closed_) {
    return;
  }
  const bool waiting = unsent_bytes() > 0;
  if (!waiting) {
    bytes.remove_prefix(write_some(bytes));
  }
  if (bytes.empty() || closed_) {
    notify_sent();
    return;
  }
  outbox_ += bytes;
  if (!waiting) {
    arm_write_timer();
    wait_writable();
  }
}

// As much as the socket takes now; closes the connection if it is broken.
size_t Connection::write_some(std::string_view bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    ErrorCode error;
    sent += socket_.write_some(asio::buffer(bytes.data() + sent, bytes.size() - sent), error);
    if (error == asio::error::would_block || error == asio::error::try_again) {
      break;
    }
    if (error && error != asio::error::interrupted) {
      close();
      break;
    }
  }
  return sent;
}

void Connection::wait_writable() {
  socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const ErrorCode& error) {
    self->on_writable(error);
  });
}

void Connection::on_writable(const ErrorCode& error) {
  if (closed_) {
    return;
  }
  if (error) {
    close();
    return;
  }
  const size_t sent = write_some(std::string_view(outbox_).substr(outbox_sent_));
  if (closed_) {
    return;
  }
  outbox_sent_ += sent;
  if (unsent_bytes() == 0) {
    outbox_ = {};  // seldom used: no reason to keep its memory
    outbox_sent_ = 0;
    write_timer_.cancel();
    on_all_sent();
    return;
  }
  if (outbox_sent_ > kMaxSentPrefix) {
    outbox_.erase(0, outbox_sent_);
    outbox_sent_ = 0;
  }
  if (sent > 0) {
    arm_write_timer();
  }
  wait_writable();
}

// Posted, because the protocol is the caller of send().
void Connection::notify_sent() {
  if (closed_ || std::exchange(notice_posted_, true)) {
    return;
  }
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->notice_posted_ = false;
    if (!self->closed_ && self->unsent_bytes() == 0) {
      self->on_all_sent();
    }
  });
}

void Connection::on_all_sent() {
  if (!finishing_) {
    protocol_->on_sent();
    offer_input();
    read();
    return;
  }
  if (said_goodbye_) {
    return;
  }
  said_goodbye_ = true;
  if (input_ended_) {
    close();
    return;
  }
  ErrorCode ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  set_deadline(options_->linger_timeout);
  read();
}

void Connection::finish() {
  if (finishing_ || closed_) {
    return;
  }
  finishing_ = true;
  input_.clear();
  set_deadline(std::chrono::milliseconds(0));
  if (unsent_bytes() == 0) {
    on_all_sent();
  } else {
    read();
  }
}

void Connection::close() {
  if (closed_) {
    return;
  }
  closed_ = true;
  deadline_timer_.cancel();
  write_timer_.cancel();
  ErrorCode ignored;
  socket_.close(ignored);
  // Posted, because the protocol may be the caller.
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->protocol_->on_closed();
    self->on_gone_(*self);
  });
}

void Connection::set_deadline(std::chrono::milliseconds after) {
  if (closed_) {
    return;
  }
  if (after.count() == 0) {
    deadline_ = Clock::time_point::max();
    return;
  }
  deadline_ = Clock::now() + after;
  if (!deadline_armed_ || deadline_timer_.expiry() > deadline_) {
    arm_deadline();
  }
}

void Connection::arm_deadline() {
  deadline_armed_ = true;
  deadline_timer_.expires_at(deadline_);  // takes an earlier wait back
  deadline_timer_.async_wait([self = shared_from_this()](const ErrorCode& error) {
    // A wait that had already run out when the timer was set again still comes here.
    if (!error && !self->closed_ && self->deadline_timer_.expiry() <= Clock::now()) {
      self->on_deadline_timer();
    }
  });
}

void Connection::on_deadline_timer() {
  deadline_armed_ = false;
  if (deadline_ == Clock::time_point::max()) {
    return;
  }
  if (deadline_ > Clock::now()) {
    arm_deadline();
    return;
  }
  deadline_ = Clock::time_point::max();
  if (finishing_) {
    close();
  } else {
    protocol_->on_deadline();
  }
}

void Connection::arm_write_timer() {
  write_timer_.expires_after(options_->write_timeout);
  write_timer_.async_wait([self = shared_from_this()](const ErrorCode& error) {
    if (!error && !self->closed_ && self->write_timer_.expiry() <= Clock::now()) {
      self->close();
    }
  });
}

}  // namespace deltaserve
