#include "backends/cpu/cpu_info.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <sched.h>
#if defined(__x86_64__)
#include <cpuid.h>

#include "backends/cpu/amx_permission.h"
#endif

namespace deltaserve {
namespace {

#if defined(__x86_64__)

struct CpuFeatures {
  bool avx2 = false;         // AVX2, FMA and F16C with ymm state saved by the kernel
  bool avx512 = false;       // F, BW, DQ, VL with zmm and mask state saved by the kernel
  bool avx512_bf16 = false;  // VDPBF16PS and VPDPBUSD
};

uint64_t read_xcr0() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

constexpr bool bit(uint64_t value, int index) {
  return ((value >> index) & 1) != 0;
}

CpuFeatures read_features() {
  CpuFeatures features;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !bit(c, 27)) {  // OSXSAVE
    return features;
  }
  const bool fma = bit(c, 12);
  const bool f16c = bit(c, 29);
  const uint64_t xcr0 = read_xcr0();
  const bool ymm_state = (xcr0 & 0x6) == 0x6;
  const bool zmm_state = (xcr0 & 0xe6) == 0xe6;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) {
    return features;
  }
  const uint32_t subleaves = a;
  const bool vnni = bit(c, 11);
  features.avx2 = bit(b, 5) && fma && f16c && ymm_state;
  features.avx512 =
      features.avx2 && zmm_state && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31);
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    features.avx512_bf16 = features.avx512 && bit(a, 5) && vnni;
  }
  return features;
}

#endif

// The value of a cgroup file of this process: version 2, then version 1 under `v1_controller`.
// Inside a container both lie at the mount's root; outside, below the path of /proc/self/cgroup.
std::optional<std::string> read_cgroup(const std::string& v2_name, const std::string& v1_controller,
                                       const std::string& v1_name) {
  std::string v2_path;
  std::string v1_path;
  std::ifstream self("/proc/self/cgroup");
  for (std::string line; std::getline(self, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) {
      v2_path = line.substr(second + 1);
    } else if (("," + controllers + ",").find("," + v1_controller + ",") != std::string::npos) {
      v1_path = line.substr(second + 1);
    }
  }
  for (const std::string& path :
       {"/sys/fs/cgroup" + v2_path + "/" + v2_name, "/sys/fs/cgroup/" + v2_name,
        "/sys/fs/cgroup/" + v1_controller + v1_path + "/" + v1_name,
        "/sys/fs/cgroup/" + v1_controller + "/" + v1_name}) {
    std::ifstream file(path);
    std::string text;
    if (std::getline(file, text)) {
      return text;
    }
  }
  return std::nullopt;
}

std::optional<double> parse_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() ? std::nullopt : std::optional(value);
}

// Cores' worth of CPU time the cgroup grants; infinity without a quota.
double cgroup_cpu_quota() {
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  const std::optional<std::string> text = read_cgroup("cpu.max", "cpu", "cpu.cfs_quota_us");
  const std::optional<double> quota = text ? parse_number(*text) : std::nullopt;
  if (!quota || *quota <= 0) {
    return no_limit;  // "max", or -1 in version 1
  }
  const size_t space = text->find(' ');
  const std::optional<std::string> period_text =
      space != std::string::npos ? text->substr(space + 1)
                                 : read_cgroup("cpu.max", "cpu", "cpu.cfs_period_us");
  const std::optional<double> period = period_text ? parse_number(*period_text) : std::nullopt;
  return period && *period > 0 ? *quota / *period : no_limit;
}

}  // namespace

std::string_view cpu_isa_name(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kPortable:
      return "portable";
    case CpuIsa::kAvx2:
      return "avx2";
    case CpuIsa::kAvx512:
      return "avx512";
    case CpuIsa::kAvx512Bf16:
      return "avx512_bf16";
    case CpuIsa::kAmx:
      return "amx";
  }
  return "";
}

Result<CpuIsa> parse_cpu_isa(std::string_view name) {
  for (const CpuIsa isa : kCpuIsas) {
    if (cpu_isa_name(isa) == name) {
      return isa;
    }
  }
  return invalid(fmt::format(
      "unknown instruction set '{}': choose portable, avx2, avx512, avx512_bf16 or amx", name));
}

bool cpu_supports(CpuIsa isa) {
#if defined(__x86_64__)
  static const CpuFeatures features = read_features();
  switch (isa) {
    case CpuIsa::kPortable:
      return true;
    case CpuIsa::kAvx2:
      return features.avx2;
    case CpuIsa::kAvx512:
      return features.avx512;
    case CpuIsa::kAvx512Bf16:
      return features.avx512_bf16;
    case CpuIsa::kAmx:
      return features.avx512 && amx_granted();
  }
  return false;
#else
  return isa == CpuIsa::kPortable;
#endif
}

bool is_intel_cpu() {
#if defined(__x86_64__)
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  // "GenuineIntel", four letters a register.
  return __get_cpuid(0, &a, &b, &c, &d) != 0 && b == signature_INTEL_ebx &&
         d == signature_INTEL_edx && c == signature_INTEL_ecx;
#else
  return false;
#endif
}

CpuIsa detect_cpu_isa() {
  CpuIsa best = CpuIsa::kPortable;
  for (const CpuIsa isa : kCpuIsas) {
    if (cpu_supports(isa)) {
      best = isa;
    }
  }
  return best;
}

int32_t usable_cpu_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int allowed = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  const double quota = std::floor(cgroup_cpu_quota());
  return static_cast<int32_t>(std::clamp(quota, 1.0, static_cast<double>(std::max(allowed, 1))));
}

size_t cgroup_memory_left() {
  constexpr size_t no_limit = std::numeric_limits<size_t>::max();
  const auto limit_text = read_cgroup("memory.max", "memory", "memory.limit_in_bytes");
  const auto used_text = read_cgroup("memory.current", "memory", "memory.usage_in_bytes");
  const auto limit = limit_text ? parse_number(*limit_text) : std::nullopt;
  const auto used = used_text ? parse_number(*used_text) : std::nullopt;
  if (!limit || !used || *limit > 1e18) {
    return no_limit;  // version 1 writes "no limit" as nearly 2^63
  }
  return *limit > *used ? static_cast<size_t>(*limit - *used) : 0;
}

}  // namespace deltaserve
