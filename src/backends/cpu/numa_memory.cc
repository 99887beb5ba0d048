#include "backends/cpu/numa_memory.h"

#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace deltaserve {
namespace {

constexpr uintptr_t kPage = 4096;
constexpr size_t kMaskWords = 16;  // 1024 nodes, the most that Linux is built for
constexpr size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;

class NodeMask {
 public:
  void add(int32_t node) {
    const auto bit = static_cast<size_t>(node);
    if (bit < kMaskWords * kWordBits) {
      words_[bit / kWordBits] |= 1UL << (bit % kWordBits);
    }
  }
  const unsigned long* words() const { return words_.data(); }
  // One more than there are bits: the kernel takes off one.
  static constexpr unsigned long kSize = kMaskWords * kWordBits + 1;

 private:
  std::array<unsigned long, kMaskWords> words_ = {};
};

// Pages that begin in the range: of two ranges that meet in a page, the first one gets it.
bool set_policy(std::byte* data, size_t bytes, int mode, const NodeMask& mask) {
  const auto first = (reinterpret_cast<uintptr_t>(data) + kPage - 1) / kPage * kPage;
  const auto last = (reinterpret_cast<uintptr_t>(data) + bytes + kPage - 1) / kPage * kPage;
  return last <= first ||
         syscall(SYS_mbind, first, last - first, mode, mask.words(), NodeMask::kSize, 0UL) == 0;
}

}  // namespace

void prefer_node(std::byte* data, size_t bytes, int32_t node) {
  NodeMask mask;
  mask.add(node);
  set_policy(data, bytes, MPOL_PREFERRED, mask);
}

void interleave_nodes(std::byte* data, size_t bytes, const ThreadPlacement& placement) {
  NodeMask mask;
  for (const NodeShare& share : placement.nodes) {
    mask.add(share.node);
  }
  set_policy(data, bytes, MPOL_INTERLEAVE, mask);
}

Result<std::vector<int32_t>> nodes_of_pages(std::span<std::byte* const> addresses) {
  std::vector<int32_t> nodes(addresses.size());
  // Without a list of targets move_pages moves nothing and tells where pages are.
  if (syscall(SYS_move_pages, 0, addresses.size(), addresses.data(), nullptr, nodes.data(), 0) !=
      0) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("move_pages: {}", std::generic_category().message(errno)));
  }
  return nodes;
}

Result<void> check_memory_policy() {
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return fail(ErrorCode::kUnavailable, "no memory for a page");
  }
  const bool done = set_policy(static_cast<std::byte*>(page), kPage, MPOL_DEFAULT, {});
  const int error = errno;
  munmap(page, kPage);
  if (!done) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("mbind: {}", std::generic_category().message(error)));
  }
  return {};
}

}  // namespace deltaserve
