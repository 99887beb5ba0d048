// Sampling on the device with the reference's arithmetic to the bit (ops/sampling.h): the rows'
// settings go up in one transfer, kernels draw, tokens and logprobs come back in another. A draw
// is begun and ended apart, so that the next step can be launched in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/cuda/cuda_context.h"
#include "backends/cuda/memory_ops.h"
#include "backends/cuda/sample_kernels.h"
#include "ops/sampling.h"

namespace deltaserve {

class CudaSampler {
 public:
  CudaSampler(CudaContext& context, PinnedRing& ring);
  CudaSampler(const CudaSampler&) = delete;
  CudaSampler& operator=(const CudaSampler&) = delete;
  ~CudaSampler();

  // As the functions of Backend with these names.
  void sample(const SampleArgs& args);
  void begin(const SampleArgs& args);
  void end(std::span<SampledToken> out);
  void take_drawn(const TakeDrawnArgs& args);

 private:
  // A draw's results, and their way to the host.
  struct Draw {
    CudaMemory results;           // CudaSampledRow [B], then TopLogprob of each row
    std::byte* memory = nullptr;  // page-locked: the same
    size_t capacity = 0;
    cudaEvent_t done = nullptr;
    std::vector<int32_t> num_logprobs;  // [B] as asked for, at most V
  };

  void pack(const SampleArgs& args, size_t header_bytes, TopLogprob* top);
  void launch(const SampleArgs& args, CudaSampledRow* results);
  const CudaSampledRow* last_drawn() const;
  void fetch(Draw& draw, size_t bytes);

  CudaContext& context_;
  PinnedRing& ring_;
  std::vector<std::byte> host_;  // what goes up
  CudaMemory input_;
  std::array<Draw, kMaxOpenDraws> draws_;
  uint64_t num_begun_ = 0;
  uint64_t num_ended_ = 0;
};

}  // namespace deltaserve
