// Backends by name. The only file that includes one.
#include "app/wiring.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <optional>
#include <system_error>

#include "backends/cpu/ceilings.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/describe_memory.h"
#include "backends/cuda/cuda_backend.h"
#include "ops/reference/reference_backend.h"

namespace deltaserve {

namespace {

Result<CpuOptions> cpu_options(const BackendOptions& options) {
  CpuOptions cpu;
  cpu.compute_dtype = options.compute_dtype;
  cpu.threads = options.threads;
  cpu.place_by_node = options.numa;
  if (!options.cpu_isa.empty()) {
    const auto isa = parse_cpu_isa(options.cpu_isa);
    if (!isa) return std::unexpected(isa.error());
    cpu.isa = *isa;
  }
  return cpu;
}

std::unexpected<Error> unknown_backend(const std::string& name) {
  if (name == "corex") {
    return invalid("--backend corex is not part of this version; use --backend cpu", "backend");
  }
  return invalid(fmt::format("unknown --backend {}; there are auto, cpu, cuda and reference", name),
                 "backend");
}

constexpr const char* kCudaLibrary = "libdeltaserve-cuda.so";

// Beside the program, where a build puts it, or where an installation does.
std::filesystem::path find_cuda_library() {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::array candidates = {program / kCudaLibrary,
                                 program.parent_path() / "lib" / "deltaserve" / kCudaLibrary};
  for (const auto& path : candidates) {
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return {};
}

// The library stays loaded until the program ends.
Result<const CudaPlugin*> load_cuda_plugin() {
  const std::filesystem::path path = find_cuda_library();
  if (path.empty()) {
    return invalid(fmt::format("--backend cuda needs {}, which is not beside this program: build "
                               "the cuda preset, or use --backend cpu",
                               kCudaLibrary),
                   "backend");
  }
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} cannot be loaded: {}", path.string(), ::dlerror()), "backend");
  }
  void* symbol = ::dlsym(library, kCudaPluginSymbol);
  if (symbol == nullptr) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} is not the CUDA library of deltaserve", path.string()), "backend");
  }
  const CudaPlugin* plugin = reinterpret_cast<CudaPluginFunction>(symbol)();
  if (std::string_view(plugin->interface) != DELTASERVE_CUDA_INTERFACE) {
    return fail(
        ErrorCode::kUnavailable,
        fmt::format("{} was built from other sources than this program: build both together",
                    path.string()),
        "backend");
  }
  return plugin;
}

CudaOptions cuda_options(const BackendOptions& options) {
  return {.compute_dtype = options.compute_dtype,
          .batch_invariant = options.batch_invariant,
          .fp16_delta_rule = options.gdn_fp16};
}

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines describe_cpu(const BackendOptions& options) {
  std::string available;
  for (const CpuIsa isa : kCpuIsas) {
    if (isa <= detect_cpu_isa()) available += fmt::format(" {}", cpu_isa_name(isa));
  }
  const int32_t threads = options.threads > 0 ? options.threads : usable_cpu_count();
  Lines lines = {{"usable cores", fmt::format("{}", usable_cpu_count())},
                 {"compute threads", fmt::format("{}", threads)},
                 {"instruction sets", available.substr(1)},
                 {"chosen", options.cpu_isa.empty() ? std::string(cpu_isa_name(detect_cpu_isa()))
                                                    : options.cpu_isa}};
  const CpuOptions cpu = {.threads = threads, .place_by_node = options.numa};
  for (auto& line : describe_cpu_memory(cpu)) lines.push_back(std::move(line));
  return lines;
}

// What is there of CUDA, or why it is not.
Lines describe_cuda(const BackendOptions& options) {
  const auto plugin = load_cuda_plugin();
  if (!plugin) return {{"cuda", plugin.error().message}};
  auto lines = (*plugin)->describe(cuda_options(options));
  if (!lines) return {{"cuda", lines.error().message}};
  return std::move(*lines);
}

}  // namespace

std::string resolve_backend(const std::string& name) {
  if (name != "auto") return name;
  const auto plugin = load_cuda_plugin();
  return plugin && (*plugin)->describe({}) ? "cuda" : "cpu";
}

Result<std::unique_ptr<Backend>> make_backend(const BackendOptions& options) {
  const std::string name = resolve_backend(options.name);
  if (options.gdn_fp16 && name != "cuda") {
    return invalid(fmt::format("--gdn-precision fp16 is a form of the cuda backend; {} has one "
                               "precision of Gated DeltaNet",
                               name),
                   "gdn_precision");
  }
  if (name == "reference") return make_reference_backend(options.compute_dtype);
  if (name == "cuda") {
    const auto plugin = load_cuda_plugin();
    if (!plugin) return std::unexpected(plugin.error());
    return (*plugin)->make(cuda_options(options));
  }
  if (name != "cpu") return unknown_backend(name);
  const auto cpu = cpu_options(options);
  if (!cpu) return std::unexpected(cpu.error());
  return make_cpu_backend(*cpu);
}

Result<MachineCeilings> measure_ceilings(const BackendOptions& options) {
  const std::string name = resolve_backend(options.name);
  if (name != "cuda" && name != "cpu" && name != "reference") return unknown_backend(name);
  if (name == "cuda") {
    const auto plugin = load_cuda_plugin();
    if (!plugin) return std::unexpected(plugin.error());
    const auto ceilings = (*plugin)->measure_ceilings(cuda_options(options));
    if (!ceilings) return std::unexpected(ceilings.error());
    return MachineCeilings{ceilings->read_gb_per_s, ceilings->matrix_gflop_per_s};
  }
  const auto cpu = cpu_options(options);
  if (!cpu) return std::unexpected(cpu.error());
  const CpuCeilings ceilings = measure_cpu_ceilings(*cpu);
  return MachineCeilings{ceilings.read_gb_per_s, options.compute_dtype == DType::kBF16
                                                     ? ceilings.bf16_gflop_per_s
                                                     : ceilings.fma_gflop_per_s};
}

Lines describe_machine(const BackendOptions& options) {
  Lines lines = describe_cpu(options);
  for (auto& line : describe_cuda(options)) lines.push_back(std::move(line));
  lines.emplace_back("backend", resolve_backend(options.name));
  return lines;
}

}  // namespace deltaserve
