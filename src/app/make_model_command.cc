// The `make-model` command.
#include "app/make_model_command.h"

#include <fmt/format.h>

#include <string>

#include "app/cli_options.h"
#include "app/flag_values.h"
#include "app/progress_bar.h"

namespace deltaserve {

namespace {

std::string known_presets() {
  std::string text = "One of";
  for (const std::string& name : preset_names()) {
    text += ' ';
    text += name;
  }
  return text;
}

}  // namespace

void add_make_model_options(CLI::App& command, MakeModelCommandOptions& options) {
  command.add_option("preset", options.preset, known_presets())->required()->type_name("PRESET");
  command.add_option("--out", options.weights.directory, "Directory to write")->required();
  command.add_option("--layers", options.shape.num_layers, "Only the first N layers, 0 for all")
      ->check(whole_number(0))
      ->capture_default_str();
  command.add_option("--seed", options.weights.seed, "Same seed, same weights")
      ->check(whole_number(0))
      ->capture_default_str();
  command.add_flag("--vision", options.shape.with_vision, "Include the vision tower");
  command
      .add_option("--max-shard-size", options.weights.max_shard_bytes,
                  "Largest weight file, such as 4GiB")
      ->transform(byte_size(1));
  command.add_option("--threads", options.weights.threads, "Writing threads, 0 for every core")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
}

int run_make_model(const MakeModelCommandOptions& options) {
  const auto summary = [&] {
    ProgressBar bar("Writing");
    return write_preset(options.preset, options.shape, options.weights,
                        [&](int64_t done, int64_t total) { bar.update(done, total); });
  }();
  if (!summary) return report_failure(summary.error());
  fmt::print("{}: {:.3f} billion parameters, {} in {} weight file{}\n",
             options.weights.directory.string(),
             static_cast<double>(summary->num_parameters) * 1e-9, format_bytes(summary->num_bytes),
             summary->num_files, summary->num_files == 1 ? "" : "s");
  return 0;
}

}  // namespace deltaserve
