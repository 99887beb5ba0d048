// gated_delta_rule of the reference backend. The recurrence serves prefill and decode alike.
#include <cmath>
#include <vector>

#include "ops/reference/delta_rule.h"
#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {
namespace {

constexpr double kL2Eps = 1e-6;  // inside the root, as in the model's definition

// x * factor / sqrt(sum(x²) + eps)
std::vector<float> l2_normalized(const float* x, int64_t n, double factor) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    sum += static_cast<double>(x[i]) * x[i];
  }
  const double scale = factor / std::sqrt(sum + kL2Eps);
  std::vector<float> out;
  for (int64_t i = 0; i < n; ++i) {
    out.push_back(static_cast<float>(x[i] * scale));
  }
  return out;
}

// out[v] = sum over k of state[k, v] * x[k]
void state_times(const DeltaRuleHead& head, const std::vector<float>& x, float* out) {
  for (int64_t v = 0; v < head.dv; ++v) {
    double sum = 0.0;
    for (int64_t k = 0; k < head.dk; ++k) {
      sum += static_cast<double>(head.state[k * head.dv + v]) * x[static_cast<size_t>(k)];
    }
    out[v] = static_cast<float>(sum);
  }
}

float softplus(float x) {
  return x > 20.0F ? x : std::log1p(std::exp(x));
}

std::vector<float> load_rows(DType x_dtype, const void* data, int64_t first, int64_t rows,
                             int64_t stride, int64_t width) {
  std::vector<float> out;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < width; ++i) {
      out.push_back(load(x_dtype, data, first + r * stride + i));
    }
  }
  return out;
}

void rule_of_sequence(DType x_dtype, const GatedDeltaRuleArgs& args, int64_t s, int64_t h) {
  const BatchView& batch = *args.batch;
  const int64_t first = batch.cu_seqlens[s];
  const int64_t rows = batch.cu_seqlens[s + 1] - first;
  const int64_t dk = args.dk;
  const int64_t dv = args.dv;
  const int64_t key_head = h / (args.num_v_heads / args.num_k_heads);
  const int64_t key_width = args.num_k_heads * dk;
  const int64_t row = first * args.qkv_stride;
  const auto q = load_rows(x_dtype, args.qkv, row + key_head * dk, rows, args.qkv_stride, dk);
  const auto k =
      load_rows(x_dtype, args.qkv, row + key_width + key_head * dk, rows, args.qkv_stride, dk);
  const auto v =
      load_rows(x_dtype, args.qkv, row + 2 * key_width + h * dv, rows, args.qkv_stride, dv);
  std::vector<float> g;
  std::vector<float> beta;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = (first + r) * args.ba_stride + h;
    beta.push_back(sigmoid(load(x_dtype, args.b, at)));
    g.push_back(-std::exp(args.A_log[h]) * softplus(load(x_dtype, args.a, at) + args.dt_bias[h]));
  }
  float* state = args.state + (batch.state_slots[s] * int64_t{args.num_v_heads} + h) * dk * dv;
  if (batch.context_lens[s] == 0) {
    for (int64_t i = 0; i < dk * dv; ++i) {
      state[i] = 0.0F;
    }
  }
  std::vector<float> out(static_cast<size_t>(rows * dv));
  const auto run = [&](int64_t begin, int64_t end, float* on) {
    delta_rule({.tokens = end - begin,
                .dk = dk,
                .dv = dv,
                .q = q.data() + begin * dk,
                .k = k.data() + begin * dk,
                .qk_stride = dk,
                .v = v.data() + begin * dv,
                .v_stride = dv,
                .g = g.data() + begin,
                .beta = beta.data() + begin,
                .gate_stride = 1,
                .state = on,
                .out = out.data() + begin * dv,
                .out_stride = dv});
  };
  const int64_t stored = batch.stored_len(s);
  run(0, stored, state);
  std::vector<float> drafted(state, state + dk * dv);
  run(stored, rows, drafted.data());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < dv; ++i) {
      store(x_dtype, args.out, (first + r) * args.out_stride + h * dv + i,
            out[static_cast<size_t>(r * dv + i)]);
    }
  }
}

}  // namespace

void delta_rule(const DeltaRuleHead& head) {
  const double q_scale = 1.0 / std::sqrt(static_cast<double>(head.dk));
  std::vector<float> memory(static_cast<size_t>(head.dv));
  for (int64_t t = 0; t < head.tokens; ++t) {
    const std::vector<float> q = l2_normalized(head.q + t * head.qk_stride, head.dk, q_scale);
    const std::vector<float> k = l2_normalized(head.k + t * head.qk_stride, head.dk, 1.0);
    const float decay = std::exp(head.g[t * head.gate_stride]);
    for (int64_t i = 0; i < head.dk * head.dv; ++i) {
      head.state[i] *= decay;
    }
    state_times(head, k, memory.data());
    for (int64_t v = 0; v < head.dv; ++v) {
      const float error = head.v[t * head.v_stride + v] - memory[static_cast<size_t>(v)];
      const float delta = head.beta[t * head.gate_stride] * error;
      for (int64_t i = 0; i < head.dk; ++i) {
        head.state[i * head.dv + v] += k[static_cast<size_t>(i)] * delta;
      }
    }
    state_times(head, q, head.out + t * head.out_stride);
  }
}

void gated_delta_rule(DType x_dtype, const GatedDeltaRuleArgs& args) {
  for (int64_t s = 0; s < args.batch->num_seqs; ++s) {
    for (int64_t h = 0; h < args.num_v_heads; ++h) {
      rule_of_sequence(x_dtype, args, s, h);
    }
  }
}

}  // namespace deltaserve::reference
