// Random tool-call ids.
#include "chat/tool_ids.h"

#include <fmt/format.h>

namespace deltaserve {
namespace {

uint64_t system_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

ToolIdGenerator::ToolIdGenerator() : random_(system_seed()) {}

std::string ToolIdGenerator::next() {
  const uint64_t high = random_();
  const uint64_t low = random_();
  return fmt::format("call_{:016x}{:08x}", high, static_cast<uint32_t>(low));
}

}  // namespace deltaserve
