// Any bytes as a prefix file whose checksum fits: no crash, and what is accepted is written again
// to the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "cache/prefix_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deltaserve;
  constexpr PrefixFormat kFormat{
      .fingerprint = {.low = 1, .high = 2}, .block_bytes = 2, .state_bytes = 4};
  std::vector<std::byte> file(size + sizeof(Hash128));
  std::ranges::copy(std::as_bytes(std::span(data, size)), file.begin());
  const Hash128 sum = prefix_checksum(std::span(file).first(size));
  std::memcpy(file.data() + size, &sum, sizeof(sum));
  const Result<StoredPrefix> prefix = read_prefix(kFormat, file);
  if (prefix && write_prefix(kFormat, *prefix) != file) std::abort();
  return 0;
}
