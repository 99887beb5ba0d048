// Runs the io contexts; an exception that reaches the loop ends one handler, not the thread.
#include "server/io_threads.h"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>

namespace deltaserve {
namespace {

void run_context(boost::asio::io_context& context) {
  for (;;) {
    try {
      context.run();
      return;
    } catch (const std::exception& error) {
      spdlog::error("an io handler failed: {}", error.what());
    }
  }
}

}  // namespace

IoThreads::IoThreads(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    auto context = std::make_unique<boost::asio::io_context>(1);
    auto work = boost::asio::make_work_guard(*context);
    threads_.push_back(
        std::make_unique<IoThread>(IoThread{std::move(context), std::move(work), {}}));
  }
}

IoThreads::~IoThreads() {
  stop();
}

void IoThreads::start() {
  for (auto& io : threads_) {
    io->thread = std::thread([context = io->context.get()] { run_context(*context); });
    pthread_setname_np(io->thread.native_handle(), "ds-io");
  }
}

void IoThreads::stop() {
  for (auto& io : threads_) {
    io->work.reset();
    io->context->stop();
  }
  for (auto& io : threads_) {
    if (io->thread.joinable()) {
      io->thread.join();
    }
  }
}

void IoThreads::post(size_t index, std::move_only_function<void()> task) {
  boost::asio::post(*threads_[index]->context, std::move(task));
}

}  // namespace deltaserve
