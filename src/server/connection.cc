// Connection: callbacks that all run on the connection's io thread.
#include "server/connection.h"

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

}  // namespace

Connection::Connection(tcp::socket socket, const ServerOptions& options,
                       std::function<void(Connection&)> on_gone)
    : socket_(std::move(socket)),
      options_(&options),
      on_gone_(std::move(on_gone)),
      deadline_(socket_.get_executor()),
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
  if (!closed_ && !finishing_ && !input_.empty()) {
    protocol_->on_bytes(input_);
  }
}

void Connection::send(std::string_view bytes) {
  if (closed_) {
    return;
  }
  queued_ += bytes;
  write();
}

void Connection::write() {
  if (!writing_.empty() || queued_.empty()) {
    return;
  }
  std::swap(writing_, queued_);
  written_ = 0;
  on_written({}, 0);
}

void Connection::on_written(const ErrorCode& error, size_t size) {
  if (closed_) {
    return;
  }
  if (error) {
    close();
    return;
  }
  written_ += size;
  if (written_ == writing_.size()) {
    writing_.clear();
    written_ = 0;
    write_timer_.cancel();
    if (!queued_.empty()) {
      write();
    } else {
      on_all_sent();
    }
    return;
  }
  arm(write_timer_, options_->write_timeout, &Connection::close);
  socket_.async_write_some(asio::buffer(writing_.data() + written_, writing_.size() - written_),
                           [self = shared_from_this()](const ErrorCode& failure, size_t sent) {
                             self->on_written(failure, sent);
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
  deadline_.cancel();
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
    deadline_.cancel();
    return;
  }
  arm(deadline_, after, &Connection::on_deadline);
}

void Connection::arm(asio::steady_timer& timer, std::chrono::milliseconds after,
                     void (Connection::*handler)()) {
  timer.expires_after(after);
  timer.async_wait([self = shared_from_this(), handler, &timer](const ErrorCode& error) {
    // A wait that had already expired when the timer was set again still comes here.
    if (!error && !self->closed_ && timer.expiry() <= std::chrono::steady_clock::now()) {
      ((*self).*handler)();
    }
  });
}

void Connection::on_deadline() {
  if (finishing_) {
    close();
  } else {
    protocol_->on_deadline();
  }
}

}  // namespace deltaserve
