// The `doctor` command.
#include "app/doctor_command.h"

#include <fmt/format.h>

#include "app/loaded_model.h"
#include "app/memory_report.h"
#include "media/video_decoder.h"

namespace deltaserve {

namespace {

void print_kernels(const Backend& backend) {
  fmt::print("\nkernels ({}, {})\n", backend.name(), dtype_name(backend.compute_dtype()));
  for (const KernelInfo& kernel : backend.kernels()) {
    fmt::print("  {:<18} {}\n", kernel.op, kernel.kernel);
  }
}

}  // namespace

int run_doctor(const DoctorOptions& options) {
  const auto backend_opts = backend_options(options.model);
  if (!backend_opts) return report_failure(backend_opts.error());
  // Measuring takes seconds: a wrong directory is told first.
  if (!options.model.directory.empty()) {
    const auto checkpoint = Checkpoint::open(options.model.directory);
    if (!checkpoint) return report_failure(checkpoint.error());
  }
  fmt::print("machine\n");
  for (const auto& [name, value] : describe_machine(*backend_opts)) {
    fmt::print("  {:<18} {}\n", name, value);
  }
  const auto ceilings = measure_ceilings(*backend_opts);
  if (!ceilings) return report_failure(ceilings.error());
  fmt::print("  {:<18} {:.1f} GB/s\n", "memory read", ceilings->read_gb_per_s);
  fmt::print("  {:<18} {:.0f} GFLOP/s ({})\n", "matrices", ceilings->matrix_gflop_per_s,
             dtype_name(backend_opts->compute_dtype));
  fmt::print("  {:<18} {}\n", "video files", can_decode_video() ? "libav" : "not built in");

  if (options.model.directory.empty()) {
    const auto backend = make_backend(*backend_opts);
    if (!backend) return report_failure(backend.error());
    print_kernels(**backend);
    return 0;
  }
  auto loaded = load_model_directory(options.model);
  if (!loaded) return report_failure(loaded.error());
  const auto plan = plan_memory(*loaded->model, loaded->backend->free_memory(), options.engine);
  if (!plan) return report_failure(plan.error());
  fmt::print("\nmodel\n{}", describe_model(loaded->model->config(), *loaded->tokenizer));
  fmt::print("\nmemory plan\n{}", describe_memory_plan(*plan, options.engine));
  print_kernels(*loaded->backend);
  return 0;
}

}  // namespace deltaserve
