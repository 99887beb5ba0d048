// Sampling on the device with the reference's arithmetic to the bit (ops/sampling.h): the rows'
// settings go up in one transfer, one kernel draws, tokens and logprobs come back.
#pragma once

#include <cstddef>
#include <vector>

#include "backends/cuda/cuda_context.h"
#include "backends/cuda/memory_ops.h"
#include "backends/cuda/sample_kernels.h"
#include "ops/sampling.h"

namespace deltaserve {

class CudaSampler {
 public:
  CudaSampler(CudaContext& context, PinnedRing& ring) : context_(context), ring_(ring) {}

  // As Backend::sample.
  void sample(const SampleArgs& args);

 private:
  void sample_group(const SampleArgs& args, int64_t first, int64_t count);

  CudaContext& context_;
  PinnedRing& ring_;
  std::vector<std::byte> host_;  // what goes up, then what comes back
  CudaMemory input_;
  CudaMemory output_;
};

}  // namespace deltaserve
