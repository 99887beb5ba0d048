// Hand-over of outputs from the engine thread to a waiting command.
#include "app/local_engine.h"

#include <iterator>
#include <utility>

namespace deltaserve {

Result<std::unique_ptr<LocalEngine>> LocalEngine::start(Model& model,
                                                        const EngineOptions& options) {
  auto engine = make_engine(model, options);
  if (!engine) return std::unexpected(engine.error());
  std::unique_ptr<LocalEngine> local(new LocalEngine);
  local->engine_ = std::move(*engine);
  local->engine_->start([self = local.get()](std::vector<RequestOutput>&& outputs) {
    const std::scoped_lock lock(self->mutex_);
    self->outputs_.insert(self->outputs_.end(), std::make_move_iterator(outputs.begin()),
                          std::make_move_iterator(outputs.end()));
    self->arrived_.notify_one();
  });
  return local;
}

LocalEngine::~LocalEngine() {
  engine_->stop(0.0);
}

Result<void> LocalEngine::run(Request request,
                              const std::function<bool(const ChoiceOutput&)>& on_output) {
  const auto id = engine_->submit(std::move(request));
  if (!id) return std::unexpected(id.error());
  bool wanted = true;
  while (true) {
    std::vector<RequestOutput> outputs;
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return !outputs_.empty(); });
      outputs.swap(outputs_);
    }
    for (const RequestOutput& output : outputs) {
      if (output.id != *id) continue;
      for (const ChoiceOutput& choice : output.choices) {
        if (choice.error) return std::unexpected(*choice.error);
        if (wanted && !on_output(choice)) {
          wanted = false;
          engine_->abort(*id);
        }
      }
      if (output.finished) return {};
    }
  }
}

}  // namespace deltaserve
