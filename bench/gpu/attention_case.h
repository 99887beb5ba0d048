// A layer's attention on the device: rows of q, gate, k and v that depend on (sequence, position)
// only, a cache filled through write_kv, and what the definition makes of them in float64.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cuda/cuda_context.h"
#include "ops/args.h"

namespace deltaserve::bench {

struct AttentionShape {
  int32_t heads = 0;
  int32_t kv_heads = 0;
  int32_t head_dim = 0;
};

struct AttentionRows {
  int32_t id = 0;  // which sequence: decides its values and its blocks
  int32_t context = 0;
  int32_t rows = 0;
  bool recurrent = false;
};

class AttentionCase {
 public:
  // Room for `sequences` sequences of `max_len` tokens. Blocks hold NaN until they are written.
  AttentionCase(CudaContext& context, AttentionShape shape, int32_t sequences, int32_t max_len);

  // write_kv of the first `tokens` tokens of a sequence.
  void fill(int32_t id, int32_t tokens);
  // write_kv of the rows, then attention: out [T, heads * head_dim].
  std::vector<float> run(const std::vector<AttentionRows>& sequences);
  // One row by the definition: [heads * head_dim].
  std::vector<double> expected(int32_t id, int32_t position) const;

 private:
  std::vector<float> values(int32_t id, int32_t position, int32_t width, uint64_t what) const;
  std::vector<int32_t> blocks_of(int32_t id) const;
  void write(const BatchView& batch, const std::vector<AttentionRows>& sequences);

  CudaContext& context_;
  AttentionShape shape_;
  int32_t sequences_;
  int32_t blocks_per_sequence_;
  CudaMemory cache_;
};

// The arrays of a batch on the device.
class DeviceRows {
 public:
  DeviceRows(const std::vector<AttentionRows>& sequences,
             const std::vector<std::vector<int32_t>>& blocks);
  const BatchView& view() const { return view_; }

 private:
  std::vector<CudaMemory> arrays_;
  BatchView view_;
};

}  // namespace deltaserve::bench
