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
  return row.num_counts > 0 || row.drawn_row >= 0 || row.num_logit_bias > 0 || row.num_banned > 0 ||
         row.allowed != nullptr;
}

size_t words_of(int64_t V) {
  return static_cast<size_t>((V + 63) / 64);
}

// Entries of a row's counts on the device, the place for what another row drew included.
int32_t num_count_places(const SamplingRow& row) {
  return row.num_counts + (row.drawn_row >= 0 ? 1 : 0);
}

size_t list_bytes(const SamplingRow& row, int64_t V) {
  return padded(static_cast<size_t>(num_count_places(row)) * sizeof(TokenCount)) +
         padded(static_cast<size_t>(row.num_logit_bias) * sizeof(LogitBias)) +
         padded(static_cast<size_t>(row.num_banned) * sizeof(int32_t)) +
         (row.allowed == nullptr ? 0 : padded(words_of(V) * sizeof(uint64_t)));
}

// Appends lists to the host's copy and returns where they will lie on the device.
class Packer {
 public:
  Packer(std::byte* host, std::byte* device, size_t used)
      : host_(host), device_(device), used_(used) {}

  template <typename T>
  T* add(const T* values, size_t count) {
    if (count == 0 || values == nullptr) {
      return nullptr;
    }
    const size_t place = used_;
    std::memcpy(host_ + place, values, count * sizeof(T));
    used_ += padded(count * sizeof(T));
    return reinterpret_cast<T*>(device_ + place);
  }

  // The counts, and one of no token in the place for what another row drew.
  TokenCount* add_counts(const SamplingRow& row) {
    if (row.drawn_row < 0) return add(row.counts, static_cast<size_t>(row.num_counts));
    counts_.assign(row.counts, row.counts + row.num_counts);
    counts_.push_back({.token = -1, .in_output = 0});
    return add(counts_.data(), counts_.size());
  }

 private:
  std::vector<TokenCount> counts_;
  std::byte* host_;
  std::byte* device_;
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

// No padding behind them: what is copied to the host is what the kernel wrote.
size_t result_bytes(int64_t B) {
  static_assert(sizeof(CudaSampledRow) % alignof(TopLogprob) == 0);
  return static_cast<size_t>(B) * sizeof(CudaSampledRow);
}

}  // namespace

CudaSampler::CudaSampler(CudaContext& context, PinnedRing& ring) : context_(context), ring_(ring) {
  for (Draw& draw : draws_) {
    check_cuda(cudaEventCreateWithFlags(&draw.done, cudaEventDisableTiming));
  }
}

CudaSampler::~CudaSampler() {
  cudaStreamSynchronize(context_.stream);
  for (const Draw& draw : draws_) {
    cudaEventDestroy(draw.done);
    cudaFreeHost(draw.memory);
  }
}

void CudaSampler::sample(const SampleArgs& args) {
  begin(args);
  end(std::span(args.out, static_cast<size_t>(args.B)));
}

void CudaSampler::begin(const SampleArgs& args) {
  DS_CHECK(args.V > 0 && args.V <= kSamplingMaxVocab);
  DS_CHECK(num_begun_ - num_ended_ < kMaxOpenDraws, "too many draws are open");
  Draw& draw = draws_[num_begun_ % kMaxOpenDraws];
  draw.num_logprobs.clear();
  const size_t header_bytes = padded(static_cast<size_t>(args.B) * sizeof(CudaSamplingRow));
  size_t in_bytes = header_bytes;
  size_t out_bytes = result_bytes(args.B);
  for (const SamplingRow& row : std::span(args.rows, static_cast<size_t>(args.B))) {
    in_bytes += list_bytes(row, args.V);
    out_bytes += static_cast<size_t>(num_top(row, args.V)) * sizeof(TopLogprob);
    draw.num_logprobs.push_back(row.num_logprobs < 0 ? -1 : num_top(row, args.V));
  }
  require(context_, input_, in_bytes);
  require(context_, draw.results, out_bytes);
  host_.resize(in_bytes);
  auto* results = static_cast<std::byte*>(draw.results.data());
  pack(args, header_bytes, reinterpret_cast<TopLogprob*>(results + result_bytes(args.B)));
  ring_.to_device(input_.data(), host_.data(), in_bytes);
  launch(args, reinterpret_cast<CudaSampledRow*>(results));
  fetch(draw, out_bytes);
  ++num_begun_;
}

// Settings and lists of all rows into host_.
void CudaSampler::pack(const SampleArgs& args, size_t header_bytes, TopLogprob* top) {
  auto* adjusted =
      context_.scratch<float>(static_cast<size_t>(kGroupRows * args.V) * sizeof(float));
  auto* packed = reinterpret_cast<CudaSamplingRow*>(host_.data());
  Packer packer(host_.data(), static_cast<std::byte*>(input_.data()), header_bytes);
  for (int64_t b = 0; b < args.B; ++b) {
    const SamplingRow& row = args.rows[b];
    packed[b] = {
        .logits = args.logits + b * args.logits_stride,
        .adjusted = needs_adjusting(row) ? adjusted + b % kGroupRows * args.V : nullptr,
        .temperature = row.temperature,
        .top_p = row.top_p,
        .min_p = row.min_p,
        .repetition_penalty = row.repetition_penalty,
        .frequency_penalty = row.frequency_penalty,
        .presence_penalty = row.presence_penalty,
        .uniform = uniform_draw(row.seed, row.position),
        .top_k = row.top_k,
        .counts = packer.add_counts(row),
        .num_counts = num_count_places(row),
        .drawn_row = row.drawn_row,
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
}

void CudaSampler::launch(const SampleArgs& args, CudaSampledRow* results) {
  const auto* rows = static_cast<const CudaSamplingRow*>(input_.data());
  if (std::any_of(args.rows, args.rows + args.B, [](auto& row) { return row.drawn_row >= 0; })) {
    launch_count_drawn(context_, rows, args.B, last_drawn());
  }
  for (int64_t first = 0; first < args.B; first += kGroupRows) {
    const int64_t count = std::min(kGroupRows, args.B - first);
    if (std::any_of(args.rows + first, args.rows + first + count, needs_adjusting)) {
      launch_adjust_logits(context_, rows + first, count, args.V);
    }
    launch_sample_rows(context_, rows + first, results + first, count, args.V);
  }
}

void CudaSampler::fetch(Draw& draw, size_t bytes) {
  if (draw.capacity < bytes) {
    cudaFreeHost(draw.memory);
    draw.memory = nullptr;
    draw.capacity = 0;
    void* memory = nullptr;
    check_cuda(cudaHostAlloc(&memory, 2 * bytes, cudaHostAllocDefault));
    draw.memory = static_cast<std::byte*>(memory);
    draw.capacity = 2 * bytes;
  }
  check_cuda(cudaMemcpyAsync(draw.memory, draw.results.data(), bytes, cudaMemcpyDeviceToHost,
                             context_.stream));
  check_cuda(cudaEventRecord(draw.done, context_.stream));
}

void CudaSampler::end(std::span<SampledToken> out) {
  DS_CHECK(num_ended_ < num_begun_, "no draw is open");
  const Draw& draw = draws_[num_ended_++ % kMaxOpenDraws];
  DS_CHECK(out.size() == draw.num_logprobs.size());
  check_cuda(cudaEventSynchronize(draw.done));
  const auto* sampled = reinterpret_cast<const CudaSampledRow*>(draw.memory);
  const auto* next = reinterpret_cast<const TopLogprob*>(
      draw.memory + result_bytes(static_cast<int64_t>(out.size())));
  for (size_t b = 0; b < out.size(); ++b) {
    const int32_t wanted = draw.num_logprobs[b];
    out[b] = {
        .token = sampled[b].token, .finite = sampled[b].finite != 0, .logprob = 0.0F, .top = {}};
    if (out[b].finite && wanted >= 0) {
      out[b].logprob = sampled[b].logprob;
      out[b].top.assign(next, next + wanted);
    }
    next += std::max(0, wanted);
  }
}

void CudaSampler::take_drawn(const TakeDrawnArgs& args) {
  launch_take_drawn(context_, args, last_drawn());
}

const CudaSampledRow* CudaSampler::last_drawn() const {
  DS_CHECK(num_begun_ > 0, "nothing was drawn");
  const Draw& draw = draws_[(num_begun_ - 1) % kMaxOpenDraws];
  return static_cast<const CudaSampledRow*>(draw.results.data());
}

}  // namespace deltaserve
