// From a checkpoint to a model on a device.
#include <utility>

#include "model/checkpoint_config.h"
#include "model/decoder.h"

namespace deltaserve {
namespace {

// What the checkpoint has, or what is asked for; both only if they are the same.
Result<LoadQuantization> choose_quantization(const ModelConfig& config,
                                             const LoadOptions& options) {
  if (options.quantization.empty()) {
    return LoadQuantization{.config = config.quantization,
                            .stored = config.quantization.has_value()};
  }
  Result<QuantizationConfig> wanted = parse_quantization(options.quantization);
  if (!wanted) {
    return std::unexpected(std::move(wanted.error()));
  }
  if (!config.quantization) {
    return LoadQuantization{.config = *wanted, .stored = false};
  }
  if (config.quantization->bits != wanted->bits) {
    return invalid("the checkpoint is quantised to " +
                       std::string(quantization_name(*config.quantization)) + ", not to " +
                       options.quantization,
                   "quantization");
  }
  return LoadQuantization{.config = config.quantization, .stored = true};
}

}  // namespace

Result<std::unique_ptr<Model>> load_model(const Checkpoint& checkpoint, Backend& backend,
                                          const ProgressCallback& on_progress,
                                          const LoadOptions& options) {
  Result<ModelConfig> config = read_model_config(checkpoint);
  if (!config) {
    return std::unexpected(std::move(config.error()));
  }
  if (Result<void> checked = backend.check_shape(cache_shape(*config)); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  if (config->vision) {
    if (Result<void> checked = backend.check_vision_shape(vision_shape(*config->vision));
        !checked) {
      return std::unexpected(std::move(checked.error()));
    }
  }
  const Result<LoadQuantization> quantization = choose_quantization(*config, options);
  if (!quantization) {
    return std::unexpected(quantization.error());
  }
  WeightLoader loader(checkpoint, backend, on_progress, *quantization);
  if (!config->vision) {
    loader.leave_out_vision();
  }
  auto decoder = std::make_unique<Decoder>(*config, backend, loader);
  Result<void> finished = loader.finish();
  if (!finished) {
    return std::unexpected(std::move(finished.error()));
  }
  return decoder;
}

}  // namespace deltaserve
