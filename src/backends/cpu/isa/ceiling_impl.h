// Loops that do one thing as fast as the core can: what a kernel's speed is compared with. Over
// Vec, as gemm_impl.h.
#pragma once

#include <cstring>

#include "backends/cpu/isa/gemm_impl.h"

namespace deltaserve {
namespace {

constexpr int kChains = 12;  // independent chains: latency times throughput of an FMA, and more

float add_up(const Vec* sums, int count) {
  Vec total = vec_zero();
  for (int i = 0; i < count; ++i) {
    total = vec_add(total, sums[i]);
  }
  float lanes[kLanes];
  vec_store(lanes, total);
  return lanes[0];
}

float run_fma(int64_t iterations) {
  Vec sums[kChains];
  for (Vec& sum : sums) {
    sum = vec_zero();
  }
  const Vec x = vec_set(0.5F);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kChains; ++j) {
      sums[j] = vec_fma(x, sums[j], x);
    }
  }
  return add_up(sums, kChains);
}

// Four streams of one region; bytes are a multiple of 4 KiB.
float read_memory(const void* memory, int64_t bytes) {
  constexpr int kStreams = 4;
  constexpr int64_t kVecBytes = kLanes * 4;
  const auto* from = static_cast<const char*>(memory);
  const int64_t part = bytes / kStreams;
  Vec sums[kStreams];
  for (Vec& sum : sums) {
    sum = vec_zero();
  }
  for (int64_t i = 0; i < part; i += kVecBytes) {
#pragma GCC unroll 4
    for (int s = 0; s < kStreams; ++s) {
      sums[s] = vec_add(sums[s], vec_load(reinterpret_cast<const float*>(from + s * part + i)));
    }
  }
  return add_up(sums, kStreams);
}

}  // namespace
}  // namespace deltaserve
