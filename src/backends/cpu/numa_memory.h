// Memory policy of address ranges, by Linux' own calls. Requests all: where a container forbids
// them (EPERM) pages lie where they are first written, which compute threads on their nodes do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/cpu/thread_placement.h"
#include "base/error.h"

namespace deltaserve {

// Whole pages of [data, data + bytes) shall come from `node` while it has room.
void prefer_node(std::byte* data, size_t bytes, int32_t node);

// Whole pages of [data, data + bytes) shall come from the placement's nodes in turn.
void interleave_nodes(std::byte* data, size_t bytes, const ThreadPlacement& placement);

// The node of each page that begins at one of `addresses`; negative where none is backed yet.
// Errors: the kernel refuses to tell.
Result<std::vector<int32_t>> nodes_of_pages(std::span<std::byte* const> addresses);

// Whether this process may set policies. Errors: what the kernel says.
Result<void> check_memory_policy();

}  // namespace deltaserve
