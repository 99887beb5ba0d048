// The `quantize` command.
#include "app/quantize_command.h"

#include <fmt/format.h>

#include "app/flag_values.h"
#include "app/progress_bar.h"
#include "model/quantize_checkpoint.h"
#include "tensor/checkpoint.h"

namespace deltaserve {

namespace {

Result<QuantizeSummary> quantize(const QuantizeCommandOptions& options) {
  auto quantization = parse_quantization(options.to);
  if (!quantization) return std::unexpected(quantization.error());
  if (options.keep_head) quantization->head_bits = 0;
  const auto source = Checkpoint::open(options.source);
  if (!source) return std::unexpected(source.error());
  ProgressBar bar("Quantising");
  return quantize_checkpoint(**source,
                             {.directory = options.out,
                              .quantization = *quantization,
                              .max_shard_bytes = options.max_shard_bytes,
                              .threads = options.threads},
                             [&](int64_t done, int64_t total) { bar.update(done, total); });
}

}  // namespace

void add_quantize_options(CLI::App& command, QuantizeCommandOptions& options) {
  command.add_option("model", options.source, "Checkpoint directory")
      ->required()
      ->type_name("MODEL");
  command.add_option("--to", options.to, "Type of the layers' matrices")
      ->required()
      ->check(CLI::IsMember({"int8", "int4"}));
  command.add_option("--out", options.out, "Directory to write, not there yet")->required();
  command.add_flag("--keep-head", options.keep_head, "Leave lm_head as the checkpoint has it");
  command
      .add_option("--max-shard-size", options.max_shard_bytes, "Largest weight file, such as 4GiB")
      ->transform(byte_size(1));
  command.add_option("--threads", options.threads, "Threads, 0 for every core")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
}

int run_quantize(const QuantizeCommandOptions& options) {
  const auto summary = quantize(options);
  if (!summary) return report_failure(summary.error());
  fmt::print("{}: {} tensors in {}, {} kept; {} instead of {}\n", options.out.string(),
             summary->num_quantized, options.to, summary->num_kept,
             format_bytes(summary->num_bytes), format_bytes(summary->source_bytes));
  return 0;
}

}  // namespace deltaserve
