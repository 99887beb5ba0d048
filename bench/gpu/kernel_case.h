// What the programs that check and time kernels share: random values on both sides, errors against
// float64 and how they are printed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/cuda_context.h"
#include "tensor/dtype.h"

namespace deltaserve::bench {

// What one H200 was measured to do: a large bfloat16 product and a copy kernel (read + written).
inline constexpr double kTensorFlops = 780e12;
inline constexpr double kCopyBytes = 4.269e12;

// Uniform in [-scale, scale), the same for the same (seed, i).
float random_value(uint64_t seed, uint64_t i, float scale);
std::vector<float> random_values(size_t count, uint64_t seed, float scale);

// `value` as a buffer of X holds it.
float rounded(DType x, float value);

// Memory of the device that holds `values` in X, and back.
CudaMemory to_device(DType x, const std::vector<float>& values);
CudaMemory to_device(const std::vector<int32_t>& values);
std::vector<float> to_host(DType x, const void* from, size_t count);

// A long random array that repeats after a prime number of elements, so that a weight of any size
// is made quickly and the host knows each of its elements.
class Pattern {
 public:
  Pattern(DType x, uint64_t seed, float scale);

  CudaMemory make(int64_t count) const;
  float operator[](int64_t i) const { return values_[static_cast<size_t>(i % kPeriod)]; }

 private:
  static constexpr int64_t kPeriod = 1048573;
  DType x_;
  std::vector<float> values_;
};

// The relative L2 error of one tensor, and its worst element.
class Error {
 public:
  void add(double actual, double expected, int64_t index);
  // Prints the error beside its bound; a failure is counted.
  void report(const std::string& what, double bound) const;

 private:
  double squares_ = 0.0;
  double norm_ = 0.0;
  double worst_ = 0.0;
  double worst_actual_ = 0.0;
  double worst_expected_ = 0.0;
  int64_t worst_index_ = -1;
  int64_t not_finite_ = 0;
  int64_t count_ = 0;
};

void report_same_bits(const std::string& what, const std::vector<float>& a,
                      const std::vector<float>& b);
void report_condition(const std::string& what, bool good);
int failures();

// One line: the time beside its floor.
void print_time(const std::string& what, double microseconds, double floor_microseconds);

void check_attention(CudaContext& context);
void time_attention(CudaContext& context);
void time_mixer(CudaContext& context);
void check_experts(CudaContext& context);
void time_experts(CudaContext& context);
void check_expert_blocks(CudaContext& context);
void time_expert_blocks(CudaContext& context);
void time_decode_layer(CudaContext& context);
void check_skinny(CudaContext& context);
void time_skinny(CudaContext& context);
void time_layers(CudaContext& context);
void check_delta_decode(CudaContext& context);
void time_delta_decode(CudaContext& context);
void check_many_rows(CudaContext& context);
void time_many_rows(CudaContext& context);
void time_sustained(CudaContext& context);
void check_invariant(CudaContext& context);
void time_invariant(CudaContext& context);
void check_vision(CudaContext& context);
void time_vision(CudaContext& context);

}  // namespace deltaserve::bench
