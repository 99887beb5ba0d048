// A text with everything in it; whoever stores it hashes it.
#include "app/cache_fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace deltaserve {
namespace {

// From the beginning, the middle and the end of each tensor.
constexpr int64_t kSampleBytes = 64;

void append_sample(const TensorView& tensor, std::string& out) {
  const int64_t size = tensor.num_bytes();
  const int64_t count = std::min(size, kSampleBytes);
  for (const int64_t begin : {int64_t{0}, (size - count) / 2, size - count}) {
    out.append(reinterpret_cast<const char*>(tensor.data) + begin, static_cast<size_t>(count));
  }
}

}  // namespace

std::string cache_fingerprint(const Checkpoint& checkpoint, const Backend& backend,
                              std::string_view quantization) {
  std::string out = fmt::format("{}|{}|{}|{}|", DELTASERVE_VERSION, backend.name(),
                                dtype_name(backend.compute_dtype()), quantization);
  for (const KernelInfo& kernel : backend.kernels()) {
    fmt::format_to(std::back_inserter(out), "{}={}|", kernel.op, kernel.kernel);
  }
  out += json::serialize(checkpoint.config());
  for (const std::string& name : checkpoint.names()) {
    const TensorView& tensor = *checkpoint.find(name);
    fmt::format_to(std::back_inserter(out), "|{}:{}[{}]", name, dtype_name(tensor.dtype),
                   fmt::join(tensor.shape, ","));
    append_sample(tensor, out);
  }
  return out;
}

}  // namespace deltaserve
