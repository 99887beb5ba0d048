// See kernel_case.h.
#include "kernel_case.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace deltaserve::bench {
namespace {

int failure_count = 0;

void finish_line(bool good) {
  failure_count += good ? 0 : 1;
  std::printf("%s\n", good ? "" : "  FAILED");
  std::fflush(stdout);
}

}  // namespace

float random_value(uint64_t seed, uint64_t i, float scale) {
  uint64_t z = (seed + 1) * 0x9e3779b97f4a7c15ULL + i * 0xbf58476d1ce4e5b9ULL;  // splitmix64
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  z ^= z >> 31U;
  return (static_cast<float>(z >> 40U) / 8388608.0F - 1.0F) * scale;
}

std::vector<float> random_values(size_t count, uint64_t seed, float scale) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = random_value(seed, i, scale);
  }
  return values;
}

float rounded(DType x, float value) {
  return x == DType::kF32 ? value : to_float(to_bfloat16(value));
}

CudaMemory to_device(DType x, const std::vector<float>& values) {
  CudaMemory memory(std::max<size_t>(1, values.size()) * static_cast<size_t>(dtype_size(x)));
  if (x == DType::kF32) {
    check_cuda(cudaMemcpy(memory.data(), values.data(), values.size() * sizeof(float),
                          cudaMemcpyHostToDevice));
  } else {
    std::vector<BFloat16> narrow(values.size());
    std::ranges::transform(values, narrow.begin(), to_bfloat16);
    check_cuda(cudaMemcpy(memory.data(), narrow.data(), narrow.size() * sizeof(BFloat16),
                          cudaMemcpyHostToDevice));
  }
  check_cuda(cudaDeviceSynchronize());  // the context's stream does not wait for such copies
  return memory;
}

CudaMemory to_device(const std::vector<int32_t>& values) {
  CudaMemory memory(std::max<size_t>(1, values.size()) * sizeof(int32_t));
  check_cuda(cudaMemcpy(memory.data(), values.data(), values.size() * sizeof(int32_t),
                        cudaMemcpyHostToDevice));
  check_cuda(cudaDeviceSynchronize());
  return memory;
}

std::vector<float> to_host(DType x, const void* from, size_t count) {
  std::vector<float> values(count);
  check_cuda(cudaDeviceSynchronize());
  if (x == DType::kF32) {
    check_cuda(cudaMemcpy(values.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost));
  } else {
    std::vector<BFloat16> narrow(count);
    check_cuda(cudaMemcpy(narrow.data(), from, count * sizeof(BFloat16), cudaMemcpyDeviceToHost));
    std::ranges::transform(narrow, values.begin(), [](BFloat16 value) { return to_float(value); });
  }
  return values;
}

Pattern::Pattern(DType x, uint64_t seed, float scale) : x_(x) {
  values_ = random_values(static_cast<size_t>(kPeriod), seed, scale);
  for (float& value : values_) {
    value = rounded(x, value);
  }
}

CudaMemory Pattern::make(int64_t count) const {
  const auto size = static_cast<size_t>(dtype_size(x_));
  const auto bytes = static_cast<size_t>(count) * size;
  CudaMemory memory(bytes);
  const CudaMemory first = to_device(x_, values_);
  size_t done = std::min(bytes, first.bytes());
  auto* to = static_cast<std::byte*>(memory.data());
  check_cuda(cudaMemcpy(to, first.data(), done, cudaMemcpyDeviceToDevice));
  while (done < bytes) {  // whole periods, twice as many each time
    const size_t more = std::min(done, bytes - done);
    check_cuda(cudaMemcpy(to + done, to, more, cudaMemcpyDeviceToDevice));
    done += more;
  }
  check_cuda(cudaDeviceSynchronize());
  return memory;
}

void Error::add(double actual, double expected, int64_t index) {
  ++count_;
  if (!std::isfinite(actual)) {
    if (not_finite_ == 0) {
      worst_index_ = index;
    }
    ++not_finite_;
    return;
  }
  const double error = std::abs(actual - expected);
  squares_ += error * error;
  norm_ += expected * expected;
  if (not_finite_ == 0 && error >= worst_) {
    worst_ = error;
    worst_actual_ = actual;
    worst_expected_ = expected;
    worst_index_ = index;
  }
}

void Error::report(const std::string& what, double bound) const {
  const double relative = std::sqrt(squares_ / std::max(norm_, 1e-300));
  const bool good = count_ > 0 && not_finite_ == 0 && relative <= bound;
  std::printf("  %-58s %9.2e (bound %.0e) of %lld", what.c_str(), relative, bound,
              static_cast<long long>(count_));
  if (!good) {
    std::printf("; %lld not finite, worst at %lld: %g for %g", static_cast<long long>(not_finite_),
                static_cast<long long>(worst_index_), worst_actual_, worst_expected_);
  }
  finish_line(good);
}

void report_same_bits(const std::string& what, const std::vector<float>& a,
                      const std::vector<float>& b) {
  size_t first = 0;
  const size_t count = std::min(a.size(), b.size());
  while (first < count && std::memcmp(&a[first], &b[first], sizeof(float)) == 0) {
    ++first;
  }
  const bool good = a.size() == b.size() && first == count && count > 0;
  std::printf("  %-58s %s", what.c_str(), good ? "same bits" : "DIFFERENT");
  if (!good && first < count) {
    std::printf(" first at %zu of %zu: %g and %g", first, count, static_cast<double>(a[first]),
                static_cast<double>(b[first]));
  }
  finish_line(good);
}

void report_condition(const std::string& what, bool good) {
  std::printf("  %-58s %s", what.c_str(), good ? "yes" : "NO");
  finish_line(good);
}

int failures() {
  return failure_count;
}

void print_time(const std::string& what, double microseconds, double floor_microseconds) {
  std::printf("%-58s %9.1f us, floor %8.1f us (%5.1f %%)\n", what.c_str(), microseconds,
              floor_microseconds, 100.0 * floor_microseconds / microseconds);
  std::fflush(stdout);
}

}  // namespace deltaserve::bench
