// HttpServer: the acceptor and the books of open connections. The acceptor runs on io thread 0;
// each thread's set of connections is touched on that thread only.
#include "server/http_server.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "server/connection.h"
#include "server/file_limit.h"
#include "server/http_protocol.h"
#include "server/response_head.h"
#include "server/routes.h"
#include "server/server_core.h"

namespace deltaserve {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// A burst of clients must not see refused connections while the io thread is busy.
constexpr int kBacklog = 1024;
// After a failed accept, mostly for want of file descriptors: trying at once would spin.
constexpr std::chrono::milliseconds kAcceptPause{100};

}  // namespace

struct HttpServer::Impl {
  Impl(ServerOptions options, const ApiService& service)
      : core(std::move(options)),
        acceptor(core.io.context(0)),
        accept_timer(core.io.context(0)),
        connections(core.io.size()) {
    add_routes(service, core.metrics, core.router);
  }

  Result<void> listen();
  void accept();
  void adopt(tcp::socket socket, size_t io_index);
  void refuse(tcp::socket socket);
  void forget(size_t io_index, Connection& connection);
  bool wait_until_empty(double seconds);
  template <typename Action>
  void for_each_connection(Action action);

  ServerCore core;
  tcp::acceptor acceptor;
  asio::steady_timer accept_timer;
  uint16_t port = 0;
  size_t next_io = 0;
  std::vector<std::unordered_set<std::shared_ptr<Connection>>> connections;  // by io thread
  std::mutex mutex;
  std::condition_variable empty;
  size_t num_open = 0;  // under mutex: accepted and not yet forgotten
  bool stopped = false;
};

Result<void> HttpServer::Impl::listen() {
  const std::string& host = core.options.host;
  const auto failed = [&](const boost::system::error_code& error) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot listen on {}:{}: {}", host, core.options.port, error.message()),
                "--host");
  };
  boost::system::error_code error;
  tcp::resolver resolver(core.io.context(0));
  const auto found =
      resolver.resolve(host, std::to_string(core.options.port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    return failed(error);
  }
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor.open(endpoint.protocol(), error);
  if (!error) {
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  }
  if (!error) {
    acceptor.bind(endpoint, error);
  }
  if (!error) {
    acceptor.listen(kBacklog, error);
  }
  if (error) {
    return failed(error);
  }
  port = acceptor.local_endpoint().port();
  return {};
}

void HttpServer::Impl::accept() {
  const size_t io_index = next_io++ % core.io.size();
  acceptor.async_accept(
      core.io.context(io_index),
      [this, io_index](const boost::system::error_code& error, tcp::socket socket) {
        if (error == asio::error::operation_aborted || core.draining) {
          return;
        }
        if (error) {
          spdlog::warn("cannot accept a connection: {}", error.message());
          accept_timer.expires_after(kAcceptPause);
          accept_timer.async_wait([this](const boost::system::error_code& cancelled) {
            if (!cancelled) {
              accept();
            }
          });
          return;
        }
        adopt(std::move(socket), io_index);
        accept();
      });
}

void HttpServer::Impl::adopt(tcp::socket socket, size_t io_index) {
  {
    std::unique_lock lock(mutex);
    if (num_open >= core.options.max_connections) {
      lock.unlock();
      refuse(std::move(socket));
      return;
    }
    ++num_open;
  }
  core.metrics.add_connections(1);
  core.io.post(io_index, [this, io_index, moved = std::move(socket)]() mutable {
    auto connection = std::make_shared<Connection>(
        std::move(moved), core.options,
        [this, io_index](Connection& gone) { forget(io_index, gone); });
    connections[io_index].insert(connection);
    connection->start(std::make_shared<HttpProtocol>(core, *connection, io_index));
    if (core.draining) {
      connection->drain();
    }
  });
}

// Says so without waiting for a request: a new socket takes that much at once.
void HttpServer::Impl::refuse(tcp::socket socket) {
  spdlog::warn("refused a connection: {} are open", core.options.max_connections);
  const HttpResponse response =
      error_response({ErrorCode::kUnavailable, "The server has too many connections.", "", ""});
  ResponseHead head;
  head.status = response.status;
  head.content_type = response.content_type;
  head.headers = response.headers;
  head.content_length = response.body.size();
  head.keep_alive = false;
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(write_head(head) + response.body), ignored);
  socket.shutdown(tcp::socket::shutdown_send, ignored);
}

void HttpServer::Impl::forget(size_t io_index, Connection& connection) {
  connections[io_index].erase(connection.shared_from_this());
  core.metrics.add_connections(-1);
  const std::lock_guard lock(mutex);
  --num_open;
  empty.notify_all();
}

bool HttpServer::Impl::wait_until_empty(double seconds) {
  std::unique_lock lock(mutex);
  return empty.wait_for(lock, std::chrono::duration<double>(seconds),
                        [this] { return num_open == 0; });
}

template <typename Action>
void HttpServer::Impl::for_each_connection(Action action) {
  for (size_t i = 0; i < core.io.size(); ++i) {
    core.io.post(i, [this, i, action] {
      for (const auto& connection : connections[i]) {
        action(*connection);
      }
    });
  }
}

HttpServer::HttpServer(ServerOptions options, const ApiService& service)
    : impl_(std::make_unique<Impl>(std::move(options), service)) {}

HttpServer::~HttpServer() {
  stop(0.0);
}

Result<void> HttpServer::start() {
  raise_file_limit(impl_->core.options.max_connections);
  Result<void> listening = impl_->listen();
  if (!listening) {
    return listening;
  }
  impl_->accept();
  impl_->core.io.start();
  return {};
}

uint16_t HttpServer::port() const {
  return impl_->port;
}

OutputSink HttpServer::output_sink() {
  return [dispatcher = &impl_->core.dispatcher](std::vector<RequestOutput>&& outputs) {
    dispatcher->deliver(std::move(outputs));
  };
}

void HttpServer::stop(double drain_seconds) {
  if (std::exchange(impl_->stopped, true)) {
    return;
  }
  impl_->core.draining = true;
  impl_->core.io.post(0, [impl = impl_.get()] {
    boost::system::error_code ignored;
    impl->acceptor.close(ignored);
    impl->accept_timer.cancel();
  });
  impl_->for_each_connection([](Connection& connection) { connection.drain(); });
  if (!impl_->wait_until_empty(drain_seconds)) {
    impl_->for_each_connection([](Connection& connection) { connection.close(); });
    constexpr double kCloseSeconds = 5.0;  // closing takes microseconds
    impl_->wait_until_empty(kCloseSeconds);
  }
  impl_->core.workers.stop();
  impl_->core.io.stop();
}

}  // namespace deltaserve
