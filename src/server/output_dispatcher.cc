// OutputDispatcher: a table from request to receiver under one lock that is held for look-ups only.
#include "server/output_dispatcher.h"

#include <exception>
#include <utility>

namespace deltaserve {

Result<RequestId> OutputDispatcher::submit(Engine& engine, Request request, size_t io_index,
                                           std::shared_ptr<OutputReceiver> receiver,
                                           size_t prompt_index) {
  const std::lock_guard lock(mutex_);
  Result<RequestId> id = engine.submit(std::move(request));
  if (id) {
    targets_.emplace(*id, Target{io_index, std::move(receiver), prompt_index});
  }
  return id;
}

void OutputDispatcher::remove(RequestId id) {
  std::shared_ptr<OutputReceiver> released;  // destroyed after the lock is
  const std::lock_guard lock(mutex_);
  if (const auto found = targets_.find(id); found != targets_.end()) {
    released = std::move(found->second.receiver);
    targets_.erase(found);
  }
}

void OutputDispatcher::deliver(std::vector<RequestOutput>&& outputs) {
  std::vector<std::vector<Delivery>> batches(io_->size());
  {
    const std::lock_guard lock(mutex_);
    for (RequestOutput& output : outputs) {
      const auto found = targets_.find(output.id);
      if (found == targets_.end()) {
        continue;
      }
      const bool finished = output.finished;
      batches[found->second.io_index].push_back(
          {found->second.receiver, found->second.prompt_index, std::move(output)});
      if (finished) {
        targets_.erase(found);
      }
    }
  }
  for (size_t i = 0; i < batches.size(); ++i) {
    if (!batches[i].empty()) {
      io_->post(i, [batch = std::move(batches[i])]() mutable { run(batch); });
    }
  }
}

void OutputDispatcher::run(std::vector<Delivery>& deliveries) {
  for (Delivery& delivery : deliveries) {
    try {
      delivery.receiver->on_output(delivery.prompt_index, std::move(delivery.output));
    } catch (const std::exception& error) {
      delivery.receiver->on_exception(error.what());
    }
  }
  for (const Delivery& delivery : deliveries) {
    try {
      delivery.receiver->on_step_end();
    } catch (const std::exception& error) {
      delivery.receiver->on_exception(error.what());
    }
  }
}

}  // namespace deltaserve
