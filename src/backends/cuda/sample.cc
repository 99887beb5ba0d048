// Packing of the rows' settings into one buffer, and unpacking of what was drawn.
#include "backends/cuda/sample.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ops/sampling_math.h"

namespace deltaserve {
namespace {

constexpr int64_t kGroupRows = kSampleGroupRows;
constexpr size_t kPartAlignment = 16;

size_t padded(size_t bytes) {
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

bool needs_adjusting(const SamplingRow& row) {
  return row.num_counts > 0 || row.num_logit_bias > 0 || row.num_banned > 0 ||
         row.allowed != nullptr;
}

size_t words_of(int64_t V) {
  return static_cast<size_t>((V + 63) / 64);
}

size_t list_bytes(const SamplingRow& row, int64_t V) {
  return padded(static_cast<size_t>(row.num_counts) * sizeof(TokenCount)) +
         padded(static_cast<size_t>(row.num_logit_bias) * sizeof(LogitBias)) +
         padded(static_cast<size_t>(row.num_banned) * sizeof(int32_t)) +
         (row.allowed == nullptr ? 0 : padded(words_of(V) * sizeof(uint64_t)));
}

// Appends lists to the host's copy and returns where they will lie on the device.
class Packer {
 public:
  Packer(std::byte* host, const std::byte* device, size_t used)
      : host_(host), device_(device), used_(used) {}

  template <typename T>
  const T* add(const T* values, size_t count) {
    if (count == 0 || values == nullptr) {
      return nullptr;
    }
    const size_t place = used_;
    std::memcpy(host_ + place, values, count * sizeof(T));
    used_ += padded(count * sizeof(T));
    return reinterpret_cast<const T*>(device_ + place);
  }

 private:
  std::byte* host_;
  const std::byte* device_;
  size_t used_;
};

void require(CudaContext& context, CudaMemory& memory, size_t bytes) {
  if (memory.bytes() < bytes) {
    check_cuda(cudaStreamSynchronize(context.stream));
    memory = CudaMemory();
    memory = CudaMemory(std::max(bytes, size_t{1} << 20));
  }
}

int32_t num_top(const SamplingRow& row, int64_t V) {
  return static_cast<int32_t>(std::clamp<int64_t>(row.num_logprobs, 0, V));
}

}  // namespace

void CudaSampler::sample(const SampleArgs& args) {
  DS_CHECK(args.V > 0 && args.V <= kSamplingMaxVocab);
  for (int64_t first = 0; first < args.B; first += kGroupRows) {
    sample_group(args, first, std::min(kGroupRows, args.B - first));
  }
}

void CudaSampler::sample_group(const SampleArgs& args, int64_t first, int64_t count) {
  const SamplingRow* rows = args.rows + first;
  const auto B = static_cast<size_t>(count);
  size_t in_bytes = padded(B * sizeof(CudaSamplingRow));
  const size_t header_bytes = in_bytes;
  const size_t results_bytes = padded(B * sizeof(CudaSampledRow));
  size_t out_bytes = results_bytes;
  bool adjusts = false;
  for (size_t b = 0; b < B; ++b) {
    in_bytes += list_bytes(rows[b], args.V);
    out_bytes += static_cast<size_t>(num_top(rows[b], args.V)) * sizeof(TopLogprob);
    adjusts = adjusts || needs_adjusting(rows[b]);
  }
  require(context_, input_, in_bytes);
  require(context_, output_, out_bytes);
  host_.resize(std::max(in_bytes, out_bytes));
  auto* adjusted =
      context_.scratch<float>(static_cast<size_t>(kGroupRows * args.V) * sizeof(float));
  auto* results = static_cast<std::byte*>(output_.data());
  auto* top = reinterpret_cast<TopLogprob*>(results + results_bytes);

  auto* packed = reinterpret_cast<CudaSamplingRow*>(host_.data());
  Packer packer(host_.data(), static_cast<const std::byte*>(input_.data()), header_bytes);
  for (size_t b = 0; b < B; ++b) {
    const SamplingRow& row = rows[b];
    const auto index = static_cast<int64_t>(b);
    packed[b] = {
        .logits = args.logits + (first + index) * args.logits_stride,
        .adjusted = needs_adjusting(row) ? adjusted + index * args.V : nullptr,
        .temperature = row.temperature,
        .top_p = row.top_p,
        .min_p = row.min_p,
        .repetition_penalty = row.repetition_penalty,
        .frequency_penalty = row.frequency_penalty,
        .presence_penalty = row.presence_penalty,
        .uniform = uniform_draw(row.seed, row.position),
        .top_k = row.top_k,
        .counts = packer.add(row.counts, static_cast<size_t>(row.num_counts)),
        .num_counts = row.num_counts,
        .num_logit_bias = row.num_logit_bias,
        .logit_bias = packer.add(row.logit_bias, static_cast<size_t>(row.num_logit_bias)),
        .banned = packer.add(row.banned, static_cast<size_t>(row.num_banned)),
        .num_banned = row.num_banned,
        .num_logprobs = row.num_logprobs < 0 ? -1 : num_top(row, args.V),
        .allowed = packer.add(row.allowed, words_of(args.V)),
        .top = top,
    };
    top += num_top(row, args.V);
  }
  ring_.to_device(input_.data(), host_.data(), in_bytes);
  const auto* device_rows = static_cast<const CudaSamplingRow*>(input_.data());
  if (adjusts) {
    launch_adjust_logits(context_, device_rows, count, args.V);
  }
  launch_sample_rows(context_, device_rows, reinterpret_cast<CudaSampledRow*>(results), count,
                     args.V);
  ring_.to_host(host_.data(), results, out_bytes);

  const auto* sampled = reinterpret_cast<const CudaSampledRow*>(host_.data());
  const auto* next = reinterpret_cast<const TopLogprob*>(host_.data() + results_bytes);
  for (size_t b = 0; b < B; ++b) {
    SampledToken& out = args.out[static_cast<size_t>(first) + b];
    out = {.token = sampled[b].token, .finite = sampled[b].finite != 0, .logprob = 0.0F, .top = {}};
    const int32_t n = num_top(rows[b], args.V);
    if (out.finite && rows[b].num_logprobs >= 0) {
      out.logprob = sampled[b].logprob;
      out.top.assign(next, next + n);
    }
    next += n;
  }
}

}  // namespace deltaserve
