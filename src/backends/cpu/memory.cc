#include "backends/cpu/memory.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <sys/mman.h>

#include "backends/cpu/cpu_info.h"

namespace deltaserve {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

size_t meminfo_available() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  size_t kib = 0;
  while (file >> key >> kib) {
    if (key == "MemAvailable:") {
      return kib * 1024;
    }
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace

HugeBuffer& HugeBuffer::operator=(HugeBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(size_, other.size_);
  return *this;
}

HugeBuffer::~HugeBuffer() {
  if (mapping_ != nullptr) {
    munmap(mapping_, mapped_bytes_);
  }
}

Result<HugeBuffer> HugeBuffer::allocate(size_t bytes) {
  HugeBuffer buffer;
  if (bytes == 0) {
    return buffer;
  }
  const bool huge = bytes >= kHugePage;
  const size_t rounded = round_up(bytes, huge ? kHugePage : 4096);
  buffer.mapped_bytes_ = rounded + (huge ? kHugePage : 0);
  void* mapping = mmap(nullptr, buffer.mapped_bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return fail(ErrorCode::kUnavailable, fmt::format("cannot allocate {} bytes of memory", bytes));
  }
  buffer.mapping_ = mapping;
  const auto address = reinterpret_cast<uintptr_t>(mapping);
  buffer.data_ =
      static_cast<std::byte*>(mapping) + (huge ? round_up(address, kHugePage) - address : 0);
  buffer.size_ = bytes;
  if (huge) {
    // Only a request: without it the buffer works with small pages.
    madvise(buffer.data_, rounded, MADV_HUGEPAGE);
  }
  return buffer;
}

size_t available_memory() {
  return std::min(meminfo_available(), cgroup_memory_left());
}

}  // namespace deltaserve
