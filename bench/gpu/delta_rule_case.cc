#include "delta_rule_case.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include "backends/cuda/cuda_ops.h"
#include "tensor/dtype.h"

namespace deltaserve::bench {
namespace {

constexpr int32_t kPeriod = 4096;

// Counter-based random numbers: splitmix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}

  uint64_t bits() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  float uniform() { return static_cast<float>(bits() >> 40) * 0x1p-24F; }
  // Nearly normal: the sum of four 16-bit uniforms, mean 0, deviation 1.
  float normal() {
    const uint64_t u = bits();
    const auto sum =
        static_cast<float>((u & 0xffff) + (u >> 16 & 0xffff) + (u >> 32 & 0xffff) + (u >> 48));
    return (sum - 131070.0F) / 37837.0F;
  }

 private:
  uint64_t state_;
};

float silu(float x) {
  return x / (1.0F + std::exp(-x));
}

double softplus(double x) {
  return x > 20.0 ? x : std::log1p(std::exp(x));
}

}  // namespace

int32_t Shape::tokens() const {
  int32_t total = 0;
  for (const Sequence& sequence : sequences) {
    total += sequence.rows;
  }
  return total;
}

DeltaRuleCase::DeltaRuleCase(CudaContext& context, Shape shape, Inputs inputs, uint64_t seed)
    : context_(context), shape_(std::move(shape)) {
  const auto T = static_cast<size_t>(shape_.tokens());
  const size_t x_bytes = context.compute_dtype == DType::kBF16 ? 2 : 4;
  period_ = std::min(shape_.tokens(), kPeriod);
  make_inputs(inputs, seed);
  qkv_memory_ = CudaMemory(T * static_cast<size_t>(width()) * x_bytes);
  gates_memory_ = CudaMemory(T * 2 * static_cast<size_t>(shape_.num_v_heads) * x_bytes);
  out_memory_ = CudaMemory(T * static_cast<size_t>(shape_.num_v_heads) * kDim * x_bytes);
  upload(qkv_memory_, qkv_);
  upload(gates_memory_, gates_);
  const size_t head_bytes = A_log_.size() * sizeof(float);
  A_log_memory_ = CudaMemory(head_bytes);
  dt_bias_memory_ = CudaMemory(head_bytes);
  check_cuda(cudaMemcpy(A_log_memory_.data(), A_log_.data(), head_bytes, cudaMemcpyDefault));
  check_cuda(cudaMemcpy(dt_bias_memory_.data(), dt_bias_.data(), head_bytes, cudaMemcpyDefault));
  states_memory_ = CudaMemory(shape_.sequences.size() * static_cast<size_t>(state_floats()) * 4);
  reset_states();
  view_batch();
}

void DeltaRuleCase::make_inputs(Inputs inputs, uint64_t seed) {
  Random random(seed);
  const int32_t Hv = shape_.num_v_heads;
  std::vector<float> mean(static_cast<size_t>(width()));
  for (float& m : mean) {
    m = random.normal();
  }
  qkv_.resize(static_cast<size_t>(period_) * mean.size());
  const int64_t first_value = int64_t{2} * shape_.num_k_heads * kDim;
  for (size_t i = 0; i < qkv_.size(); ++i) {
    const size_t column = i % mean.size();
    const bool value = static_cast<int64_t>(column) >= first_value;
    float x = silu(random.normal() + (value ? 0.3F : 0.7F) * mean[column]);
    if (inputs == Inputs::kParallel && !value) {
      x = mean[column] + 0.05F * random.normal();
    }
    qkv_[i] = x;
  }
  for (int32_t h = 0; h < Hv; ++h) {
    A_log_.push_back(inputs == Inputs::kExtreme ? 2.0F : -3.0F + 3.0F * random.uniform());
    dt_bias_.push_back(-3.0F + 2.0F * random.uniform());
  }
  for (int32_t t = 0; t < period_; ++t) {
    for (int32_t h = 0; h < Hv; ++h) {
      gates_.push_back(inputs == Inputs::kParallel ? 6.9F : 2.0F * random.normal());
    }
    for (int32_t h = 0; h < Hv; ++h) {
      float a = random.normal();
      if (inputs == Inputs::kNoDecay) a = -60.0F;
      if (inputs == Inputs::kExtreme && random.uniform() < 0.2F) a = 45.0F * random.uniform();
      gates_.push_back(a);
    }
  }
  initial_.resize(static_cast<size_t>(state_floats()));
  for (float& s : initial_) {
    s = 0.3F * random.normal();
  }
  if (context_.compute_dtype == DType::kBF16) {
    for (std::vector<float>* values : {&qkv_, &gates_}) {
      for (float& x : *values) {
        x = to_float(to_bfloat16(x));
      }
    }
  }
}

// Rows of the period, again and again.
void DeltaRuleCase::upload(CudaMemory& to, const std::vector<float>& values) {
  std::vector<BFloat16> narrow;
  const void* from = values.data();
  size_t bytes = values.size() * sizeof(float);
  if (context_.compute_dtype == DType::kBF16) {
    for (const float x : values) {
      narrow.push_back(to_bfloat16(x));
    }
    from = narrow.data();
    bytes /= 2;
  }
  for (size_t at = 0; at < to.bytes(); at += bytes) {
    check_cuda(cudaMemcpy(static_cast<char*>(to.data()) + at, from,
                          std::min(bytes, to.bytes() - at), cudaMemcpyDefault));
  }
}

void DeltaRuleCase::reset_states() {
  check_cuda(cudaStreamSynchronize(context_.stream));
  const auto bytes = static_cast<size_t>(state_floats()) * sizeof(float);
  auto* to = static_cast<char*>(states_memory_.data());
  for (const Sequence& sequence : shape_.sequences) {
    if (sequence.context_len == 0) {
      check_cuda(cudaMemset(to, 0xff, bytes));
    } else {
      check_cuda(cudaMemcpy(to, initial_.data(), bytes, cudaMemcpyDefault));
    }
    to += bytes;
  }
  check_cuda(cudaMemset(out_memory_.data(), 0xff, out_memory_.bytes()));
  check_cuda(cudaDeviceSynchronize());
}

void DeltaRuleCase::view_batch() {
  const auto B = static_cast<int32_t>(shape_.sequences.size());
  std::vector<int32_t> values = {0};
  for (const Sequence& sequence : shape_.sequences) {
    values.push_back(values.back() + sequence.rows);
  }
  starts_ = values;
  for (const Sequence& sequence : shape_.sequences) {
    values.push_back(sequence.context_len);
  }
  for (int32_t s = 0; s < B; ++s) {
    values.push_back(s);
  }
  std::vector<uint8_t> recurrent;
  for (const Sequence& sequence : shape_.sequences) {
    recurrent.push_back(sequence.recurrent ? 1 : 0);
    batch_.max_query_len = std::max(batch_.max_query_len, sequence.rows);
  }
  const size_t bytes = values.size() * sizeof(int32_t);
  constexpr size_t kPartBytes = 64;  // the arrays of run_rows
  batch_memory_ = CudaMemory(bytes + recurrent.size() + kPartBytes + 16);
  auto* device = static_cast<int32_t*>(batch_memory_.data());
  check_cuda(cudaMemcpy(device, values.data(), bytes, cudaMemcpyDefault));
  check_cuda(
      cudaMemcpy(device + values.size(), recurrent.data(), recurrent.size(), cudaMemcpyDefault));
  batch_.num_tokens = shape_.tokens();
  batch_.num_seqs = B;
  batch_.cu_seqlens = device;
  batch_.context_lens = device + B + 1;
  batch_.state_slots = device + 2 * B + 1;
  batch_.recurrent = reinterpret_cast<const uint8_t*>(device + values.size());
  batch_.num_chunked = static_cast<int32_t>(std::ranges::count(recurrent, 0));
  const size_t used = (bytes + recurrent.size() + 15) / 16 * 16;
  part_.num_seqs = 1;
  part_.cu_seqlens = reinterpret_cast<int32_t*>(static_cast<char*>(batch_memory_.data()) + used);
  part_.context_lens = part_.cu_seqlens + 2;
  part_.state_slots = part_.cu_seqlens + 3;
  part_.recurrent = reinterpret_cast<const uint8_t*>(part_.cu_seqlens + 4);
  const int32_t Hv = shape_.num_v_heads;
  const size_t x_bytes = context_.compute_dtype == DType::kBF16 ? 2 : 4;
  args_ = {.batch = &batch_,
           .num_k_heads = shape_.num_k_heads,
           .num_v_heads = Hv,
           .dk = kDim,
           .dv = kDim,
           .qkv = qkv_memory_.data(),
           .qkv_stride = width(),
           .b = gates_memory_.data(),
           .a = static_cast<char*>(gates_memory_.data()) + static_cast<size_t>(Hv) * x_bytes,
           .ba_stride = int64_t{2} * Hv,
           .A_log = static_cast<float*>(A_log_memory_.data()),
           .dt_bias = static_cast<float*>(dt_bias_memory_.data()),
           .state = static_cast<float*>(states_memory_.data()),
           .out = out_memory_.data(),
           .out_stride = int64_t{Hv} * kDim};
}

void DeltaRuleCase::launch(const GatedDeltaRuleArgs& args) {
  launch_gated_delta_rule(context_, args);
}

void DeltaRuleCase::run_rows(int32_t s, int32_t begin, int32_t rows) {
  const Sequence& sequence = shape_.sequences[static_cast<size_t>(s)];
  const int32_t values[5] = {0, rows, sequence.context_len + begin, s, sequence.recurrent ? 1 : 0};
  check_cuda(cudaStreamSynchronize(context_.stream));
  check_cuda(cudaMemcpy(const_cast<int32_t*>(part_.cu_seqlens), values, sizeof(values),
                        cudaMemcpyDefault));
  check_cuda(cudaDeviceSynchronize());  // the copy is not on the context's stream
  part_.num_tokens = rows;
  part_.max_query_len = rows;
  part_.num_chunked = sequence.recurrent ? 0 : 1;
  const auto x_bytes = context_.compute_dtype == DType::kBF16 ? 2 : 4;
  const int64_t row = starts_[static_cast<size_t>(s)] + begin;
  GatedDeltaRuleArgs args = args_;
  const auto move = [&](const void* from, int64_t stride) {
    return static_cast<const char*>(from) + row * stride * x_bytes;
  };
  args.batch = &part_;
  args.qkv = move(args.qkv, args.qkv_stride);
  args.a = move(args.a, args.ba_stride);
  args.b = move(args.b, args.ba_stride);
  args.out = const_cast<char*>(move(args.out, args.out_stride));
  launch(args);
}

std::vector<float> DeltaRuleCase::output() const {
  check_cuda(cudaStreamSynchronize(context_.stream));
  std::vector<float> values(static_cast<size_t>(shape_.tokens()) *
                            static_cast<size_t>(shape_.num_v_heads) * kDim);
  if (context_.compute_dtype != DType::kBF16) {
    check_cuda(
        cudaMemcpy(values.data(), out_memory_.data(), out_memory_.bytes(), cudaMemcpyDefault));
    return values;
  }
  std::vector<BFloat16> narrow(values.size());
  check_cuda(cudaMemcpy(narrow.data(), out_memory_.data(), out_memory_.bytes(), cudaMemcpyDefault));
  std::ranges::transform(narrow, values.begin(), [](BFloat16 x) { return to_float(x); });
  return values;
}

std::vector<float> DeltaRuleCase::state(int32_t s) const {
  check_cuda(cudaStreamSynchronize(context_.stream));
  std::vector<float> values(static_cast<size_t>(state_floats()));
  check_cuda(cudaMemcpy(values.data(), args_.state + s * state_floats(), values.size() * 4,
                        cudaMemcpyDefault));
  return values;
}

void DeltaRuleCase::poison_rows(int32_t s) {
  const size_t x_bytes = context_.compute_dtype == DType::kBF16 ? 2 : 4;
  const size_t row_bytes = static_cast<size_t>(width()) * x_bytes;
  check_cuda(cudaMemset(
      static_cast<char*>(qkv_memory_.data()) +
          static_cast<size_t>(starts_[static_cast<size_t>(s)]) * row_bytes,
      0xff, static_cast<size_t>(shape_.sequences[static_cast<size_t>(s)].rows) * row_bytes));
  check_cuda(cudaDeviceSynchronize());
}

DeltaRuleCase::Expected DeltaRuleCase::expected(int32_t s, int32_t head) const {
  const Sequence& sequence = shape_.sequences[static_cast<size_t>(s)];
  const int32_t start = starts_[static_cast<size_t>(s)];
  const auto rows = static_cast<size_t>(sequence.rows);
  const auto w = static_cast<size_t>(width());
  const auto h = static_cast<size_t>(head);
  const auto Hv = static_cast<size_t>(shape_.num_v_heads);
  const auto Hk = static_cast<size_t>(shape_.num_k_heads);
  const size_t key_head = h / (Hv / Hk);
  const auto row_of = [&](size_t t) {
    return (static_cast<size_t>(start) + t) % static_cast<size_t>(period_);
  };
  std::vector<double> q(rows * kDim), k(rows * kDim), decay(rows), beta(rows);
  for (size_t t = 0; t < rows; ++t) {
    const float* x = &qkv_[row_of(t) * w];
    double q_squares = 1e-6;
    double k_squares = 1e-6;
    for (size_t i = 0; i < kDim; ++i) {
      q[t * kDim + i] = x[key_head * kDim + i];
      k[t * kDim + i] = x[(Hk + key_head) * kDim + i];
      q_squares += q[t * kDim + i] * q[t * kDim + i];
      k_squares += k[t * kDim + i] * k[t * kDim + i];
    }
    for (size_t i = 0; i < kDim; ++i) {
      q[t * kDim + i] /= std::sqrt(q_squares * kDim);
      k[t * kDim + i] /= std::sqrt(k_squares);
    }
    const float* gates = &gates_[row_of(t) * 2 * Hv];
    beta[t] = 1.0 / (1.0 + std::exp(-double{gates[h]}));
    decay[t] = std::exp(-std::exp(double{A_log_[h]}) *
                        softplus(double{gates[Hv + h]} + double{dt_bias_[h]}));
  }
  Expected result;
  result.output.resize(rows * kDim);
  result.state.resize(size_t{kDim} * kDim);
  const auto columns = [&](size_t first, size_t step) {
    for (size_t v = first; v < kDim; v += step) {
      double* S = &result.state[v * kDim];
      for (size_t i = 0; i < kDim && sequence.context_len > 0; ++i) {
        S[i] = initial_[(h * kDim + v) * kDim + i];
      }
      for (size_t t = 0; t < rows; ++t) {
        double memory = 0.0;
        for (size_t i = 0; i < kDim; ++i) {
          S[i] *= decay[t];
          memory += S[i] * k[t * kDim + i];
        }
        const double value = qkv_[row_of(t) * w + (2 * Hk + h) * kDim + v];
        const double delta = beta[t] * (value - memory);
        double out = 0.0;
        for (size_t i = 0; i < kDim; ++i) {
          S[i] += delta * k[t * kDim + i];
          out += S[i] * q[t * kDim + i];
        }
        result.output[t * kDim + v] = out;
      }
    }
  };
  const size_t count = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 16);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back(columns, i, count);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return result;
}

}  // namespace deltaserve::bench
