// Backends by name. The only file that includes one.
#include "app/wiring.h"

#include <fmt/format.h>

#include <optional>

#include "backends/cpu/ceilings.h"
#include "backends/cpu/cpu_backend.h"
#include "ops/reference/reference_backend.h"

namespace deltaserve {

namespace {

Result<CpuOptions> cpu_options(const BackendOptions& options) {
  CpuOptions cpu;
  cpu.compute_dtype = options.compute_dtype;
  cpu.threads = options.threads;
  if (!options.cpu_isa.empty()) {
    const auto isa = parse_cpu_isa(options.cpu_isa);
    if (!isa) return std::unexpected(isa.error());
    cpu.isa = *isa;
  }
  return cpu;
}

std::unexpected<Error> unknown_backend(const std::string& name) {
  if (name == "cuda" || name == "corex") {
    return invalid(fmt::format("--backend {} is not part of this build; use --backend cpu", name),
                   "backend");
  }
  return invalid(fmt::format("unknown --backend {}; this build has cpu and reference", name),
                 "backend");
}

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(const BackendOptions& options) {
  if (options.name == "reference") return make_reference_backend(options.compute_dtype);
  if (options.name != "cpu") return unknown_backend(options.name);
  const auto cpu = cpu_options(options);
  if (!cpu) return std::unexpected(cpu.error());
  return make_cpu_backend(*cpu);
}

Result<MachineCeilings> measure_ceilings(const BackendOptions& options) {
  const auto cpu = cpu_options(options);
  if (!cpu) return std::unexpected(cpu.error());
  const CpuCeilings ceilings = measure_cpu_ceilings(*cpu);
  return MachineCeilings{ceilings.read_gb_per_s, options.compute_dtype == DType::kBF16
                                                     ? ceilings.bf16_gflop_per_s
                                                     : ceilings.fma_gflop_per_s};
}

std::vector<std::pair<std::string, std::string>> describe_machine(const BackendOptions& options) {
  std::string available;
  for (const CpuIsa isa : kCpuIsas) {
    if (isa <= detect_cpu_isa()) available += fmt::format(" {}", cpu_isa_name(isa));
  }
  const int32_t threads = options.threads > 0 ? options.threads : usable_cpu_count();
  return {{"usable cores", fmt::format("{}", usable_cpu_count())},
          {"compute threads", fmt::format("{}", threads)},
          {"instruction sets", available.substr(1)},
          {"chosen", options.cpu_isa.empty() ? std::string(cpu_isa_name(detect_cpu_isa()))
                                             : options.cpu_isa}};
}

}  // namespace deltaserve
