#include "backends/cpu/amx_permission.h"

#if defined(__x86_64__)
#include <cstdint>

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace deltaserve {
namespace {

#if defined(__x86_64__)

bool request_tiles() {
  constexpr uint32_t kBf16 = 1U << 22;  // of CPUID 7.0 EDX
  constexpr uint32_t kTile = 1U << 24;
  constexpr uint32_t kInt8 = 1U << 25;
  constexpr uint32_t kVnni = 1U << 11;         // of its ECX
  constexpr uint32_t kXsave = 1U << 27;        // of CPUID 1 ECX
  constexpr uint32_t kTileState = 0x3U << 17;  // of XCR0: configuration and data
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // the state component
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kXsave) == 0) {
    return false;
  }
  constexpr uint32_t kNeeded = kBf16 | kTile | kInt8;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (c & kVnni) == 0 ||
      (d & kNeeded) != kNeeded) {
    return false;
  }
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kTileState) == kTileState &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

#endif

}  // namespace

bool amx_granted() {
#if defined(__x86_64__)
  static const bool granted = request_tiles();
  return granted;
#else
  return false;
#endif
}

}  // namespace deltaserve
