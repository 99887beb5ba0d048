// Any bytes into the JSON parser: no crash, limits hold, and what parses is written back to text
// that parses to the same value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "json/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using deltaserve::json::ParseLimits;
  ParseLimits limits;
  limits.max_depth = 64;
  limits.max_bytes = size_t{1} << 20;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = deltaserve::json::parse(text, limits);
  if (!value) {
    return 0;
  }
  for (const std::string& written :
       {deltaserve::json::serialize(*value), deltaserve::json::dumps(*value),
        deltaserve::json::dumps(*value, 2)}) {
    const auto again = deltaserve::json::parse(written, limits);
    if (again && *again != *value) {
      std::abort();
    }
    if (!again && written.size() <= limits.max_bytes) {
      std::abort();
    }
  }
  return 0;
}
