// The runner over a loaded model and its backend.
#include "engine/model_runner.h"

#include "base/check.h"

namespace deltaserve {
namespace {

class LoadedModelRunner : public ModelRunner {
 public:
  LoadedModelRunner(Model& model, int64_t sampling_vocab_size)
      : model_(&model), sampling_vocab_size_(sampling_vocab_size) {}

  void run(const Batch& batch, std::span<const SamplingRow> rows,
           std::span<SampledToken> sampled) override {
    DS_CHECK(rows.size() == batch.logits_rows.size() && sampled.size() == rows.size());
    model_->forward(batch);
    if (rows.empty()) return;
    SampleArgs args;
    args.B = static_cast<int64_t>(rows.size());
    args.V = sampling_vocab_size_;
    args.logits = model_->logits();
    args.logits_stride = model_->logits_stride();
    args.rows = rows.data();
    args.out = sampled.data();
    model_->backend().sample(args);
  }

 private:
  Model* model_;
  int64_t sampling_vocab_size_;
};

}  // namespace

std::unique_ptr<ModelRunner> make_model_runner(Model& model, int64_t sampling_vocab_size) {
  return std::make_unique<LoadedModelRunner>(model, sampling_vocab_size);
}

}  // namespace deltaserve
