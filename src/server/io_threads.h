// The io threads: each runs one Asio context, and a connection stays on the thread it was given to,
// so that connection state needs no locks. They wait in epoll and never block elsewhere.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace deltaserve {

class IoThreads {
 public:
  explicit IoThreads(size_t count);
  ~IoThreads();

  void start();
  // Lets the threads end once told and joins them; what is still queued is dropped.
  void stop();

  size_t size() const { return threads_.size(); }
  boost::asio::io_context& context(size_t index) { return *threads_[index]->context; }
  // Runs `task` on that thread, from any thread. An exception in it is logged.
  void post(size_t index, std::move_only_function<void()> task);

 private:
  struct IoThread {
    std::unique_ptr<boost::asio::io_context> context;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
    std::thread thread;
  };

  std::vector<std::unique_ptr<IoThread>> threads_;
};

}  // namespace deltaserve
