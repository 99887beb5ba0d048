// The library's one exported function.
#include <fmt/format.h>

#include "backends/cuda/ceilings.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/make_backend.h"

namespace deltaserve {
namespace {

Result<std::vector<std::pair<std::string, std::string>>> describe(const CudaOptions& options) {
  const Result<CudaDevice> device = find_cuda_device(options.device);
  if (!device) {
    return std::unexpected(device.error());
  }
  int driver = 0;
  int runtime = 0;
  check_cuda(cudaDriverGetVersion(&driver));
  check_cuda(cudaRuntimeGetVersion(&runtime));
  const auto version = [](int number) {
    return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
  };
  return std::vector<std::pair<std::string, std::string>>{
      {"device", fmt::format("{}, sm_{}, {} SMs", device->name, device->arch, device->num_sms)},
      {"device memory", fmt::format("{:.1f} GiB", static_cast<double>(device->memory_bytes) /
                                                      static_cast<double>(int64_t{1} << 30))},
      {"CUDA", fmt::format("driver {}, runtime {}", version(driver), version(runtime))},
      {"kernels for", DELTASERVE_CUDA_ARCHITECTURES}};
}

constexpr CudaPlugin kPlugin = {.interface = DELTASERVE_CUDA_INTERFACE,
                                .make = make_cuda_backend,
                                .measure_ceilings = measure_cuda_ceilings,
                                .describe = describe};

}  // namespace
}  // namespace deltaserve

extern "C" __attribute__((visibility("default"))) const deltaserve::CudaPlugin*
deltaserve_cuda_plugin() {
  return &deltaserve::kPlugin;
}
