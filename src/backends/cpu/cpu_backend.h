// The CPU backend: own kernels over one panel layout, chosen once by instruction set. A row's bits
// depend on nothing but that row: not on the batch, its size or the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ops/backend.h"

namespace deltaserve {

// In ascending order of preference.
enum class CpuIsa : uint8_t { kPortable, kAvx2, kAvx512, kAvx512Bf16, kAmx };
inline constexpr std::array kCpuIsas = {CpuIsa::kPortable, CpuIsa::kAvx2, CpuIsa::kAvx512,
                                        CpuIsa::kAvx512Bf16, CpuIsa::kAmx};

std::string_view cpu_isa_name(CpuIsa isa);  // as --cpu-isa takes it
Result<CpuIsa> parse_cpu_isa(std::string_view name);

struct CpuOptions {
  DType compute_dtype = DType::kBF16;  // kF32 or kBF16
  int32_t threads = 0;                 // 0: the cores this process may use (affinity and cgroup)
  std::optional<CpuIsa> isa = {};      // default: the best one that the machine has
  bool place_by_node = true;           // threads and memory, where there are several memory nodes
};

// The best instruction set that has kernels here and runs on this machine.
CpuIsa detect_cpu_isa();
int32_t usable_cpu_count();

// Errors: an instruction set the machine lacks, a dtype that is not served.
Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuOptions& options);

}  // namespace deltaserve
