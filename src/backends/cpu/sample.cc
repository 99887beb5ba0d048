// sample: a row at a time, rows in parallel. Draws exactly the token of the reference: weights are
// integers, so every sum is exact and the passes may skip and reorder as they like.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "backends/cpu/row_ops.h"
#include "backends/cpu/sample_scan.h"
#include "backends/cpu/sample_select.h"
#include "backends/cpu/threads.h"
#include "base/check.h"
#include "ops/sampling_math.h"

namespace deltaserve {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Vectors may be stored past the last element of an output.
constexpr int64_t kSlack = 16;

// Vocabularies from here on are worth guessing where top_p cuts before all is looked at.
constexpr int64_t kGuessedVocab = 32768;

// Arrays of one thread, carved from its scratch.
struct SampleScratch {
  float* adjusted = nullptr;         // [V]
  float* weights = nullptr;          // [V]
  float* found_values = nullptr;     // [V + kSlack]
  int32_t* found_tokens = nullptr;   // [V + kSlack]
  Candidate* candidates = nullptr;   // [V]
  float* maxima = nullptr;           // [blocks] of the unmodified logits
  float* adjusted_maxima = nullptr;  // [blocks]
  float* ordered_maxima = nullptr;   // [blocks]

  static size_t bytes(int64_t V) {
    return static_cast<size_t>(6 * V + 2 * kSlack + 3 * sample_blocks(V)) * sizeof(float);
  }

  SampleScratch(float* memory, int64_t V) {
    const auto take = [&memory](int64_t floats) {
      float* out = memory;
      memory += floats;
      return out;
    };
    candidates = reinterpret_cast<Candidate*>(take(2 * V));
    adjusted = take(V);
    weights = take(V);
    found_values = take(V + kSlack);
    found_tokens = reinterpret_cast<int32_t*>(take(V + kSlack));
    maxima = take(sample_blocks(V));
    adjusted_maxima = take(sample_blocks(V));
    ordered_maxima = take(sample_blocks(V));
  }
};

class RowSampler {
 public:
  RowSampler(const SampleScan& scan, const SamplingRow& row, const float* logits, int64_t V,
             SampleScratch& scratch)
      : scan_(scan), row_(row), logits_(logits), values_(logits), V_(V), scratch_(scratch) {}

  SampledToken run() {
    SampledToken out;
    if (!scan_.maxima(logits_, V_, scratch_.maxima) || !adjust()) {
      out.finite = false;
      return out;
    }
    largest_ = *std::max_element(value_maxima_, value_maxima_ + sample_blocks(V_));
    if (largest_ == -kInfinity) {
      out.finite = false;
      return out;
    }
    out.token = row_.temperature == 0.0F ? first_largest() : draw();
    if (row_.num_logprobs >= 0) {
      add_logprobs(out);
    }
    return out;
  }

 private:
  bool adjust();
  bool has_penalties() const {
    return row_.num_counts > 0 && (row_.repetition_penalty != 1.0F ||
                                   row_.frequency_penalty != 0.0F || row_.presence_penalty != 0.0F);
  }
  template <typename Visit>
  void for_each_changed(Visit&& visit) const;
  void apply_penalty(const TokenCount& count);
  void update_maxima();
  int32_t first_largest() const;
  int32_t draw();
  int32_t draw_among(Candidate* candidates, int64_t count);
  int64_t largest_k(const float* values, const float* maxima, int64_t k);
  void take_found(int64_t found);
  TopP cut_top_p(double total);

  void add_logprobs(SampledToken& out);

  const SampleScan& scan_;
  const SamplingRow& row_;
  const float* logits_;
  const float* values_;  // logits after bans, bias and penalties
  const float* value_maxima_ = nullptr;
  int64_t V_;
  SampleScratch& scratch_;
  float largest_ = 0.0F;
};

// Calls visit(token) for every token that bias, bans or penalties touch; padding rows are skipped.
template <typename Visit>
void RowSampler::for_each_changed(Visit&& visit) const {
  const auto call = [&](int32_t token) {
    if (token >= 0 && token < V_) {
      visit(token);
    }
  };
  for (int32_t i = 0; i < row_.num_logit_bias; ++i) {
    call(row_.logit_bias[i].token);
  }
  for (int32_t i = 0; i < row_.num_banned; ++i) {
    call(row_.banned[i]);
  }
  for (int32_t i = 0; has_penalties() && i < row_.num_counts; ++i) {
    call(row_.counts[i].token);
  }
}

void RowSampler::apply_penalty(const TokenCount& count) {
  if (count.token < 0 || count.token >= V_) {
    return;
  }
  float& logit = scratch_.adjusted[count.token];
  logit = logit > 0.0F ? logit / row_.repetition_penalty : logit * row_.repetition_penalty;
  logit -= row_.frequency_penalty * static_cast<float>(count.in_output);
  logit -= count.in_output > 0 ? row_.presence_penalty : 0.0F;
}

// Sets values_ and value_maxima_; false if an adjusted logit is NaN or +Inf.
bool RowSampler::adjust() {
  value_maxima_ = scratch_.maxima;
  const bool sparse = row_.num_logit_bias > 0 || row_.num_banned > 0 || has_penalties();
  if (row_.allowed == nullptr && !sparse) {
    return true;
  }
  values_ = scratch_.adjusted;
  value_maxima_ = scratch_.adjusted_maxima;
  if (row_.allowed != nullptr) {
    scan_.mask(logits_, row_.allowed, V_, scratch_.adjusted);
  } else {
    std::copy_n(logits_, V_, scratch_.adjusted);
  }
  for (int32_t i = 0; i < row_.num_logit_bias; ++i) {
    const LogitBias& bias = row_.logit_bias[i];
    if (bias.token >= 0 && bias.token < V_) {
      scratch_.adjusted[bias.token] += bias.bias;
    }
  }
  for (int32_t i = 0; i < row_.num_banned; ++i) {
    if (row_.banned[i] >= 0 && row_.banned[i] < V_) {
      scratch_.adjusted[row_.banned[i]] = -kInfinity;
    }
  }
  for (int32_t i = 0; has_penalties() && i < row_.num_counts; ++i) {
    apply_penalty(row_.counts[i]);
  }
  bool good = true;
  for_each_changed([&](int32_t token) { good = good && scratch_.adjusted[token] < kInfinity; });
  update_maxima();
  return good;
}

void RowSampler::update_maxima() {
  const int64_t changed =
      int64_t{row_.num_logit_bias} + row_.num_banned + (has_penalties() ? row_.num_counts : 0);
  // A changed token costs its block of 64; beyond this many one pass over all is cheaper.
  if (row_.allowed != nullptr || changed > sample_blocks(V_) / 2) {
    static_cast<void>(scan_.maxima(scratch_.adjusted, V_, scratch_.adjusted_maxima));
    return;
  }
  std::copy_n(scratch_.maxima, sample_blocks(V_), scratch_.adjusted_maxima);
  for_each_changed([&](int32_t token) {
    const int64_t block = token / kSampleBlock;
    const int64_t begin = block * kSampleBlock;
    static_cast<void>(scan_.maxima(scratch_.adjusted + begin, std::min(kSampleBlock, V_ - begin),
                                   scratch_.adjusted_maxima + block));
  });
}

int32_t RowSampler::first_largest() const {
  const int64_t block =
      std::find(value_maxima_, value_maxima_ + sample_blocks(V_), largest_) - value_maxima_;
  const float* begin = values_ + block * kSampleBlock;
  return static_cast<int32_t>(std::find(begin, values_ + V_, largest_) - values_);
}

// Puts the k largest of `values` (those above -Inf) first among scratch_.candidates, in no order;
// returns how many.
int64_t RowSampler::largest_k(const float* values, const float* maxima, int64_t k) {
  const int64_t blocks = sample_blocks(V_);
  float threshold = -FLT_MAX;
  if (k <= blocks) {  // k blocks hold a value that large, so the k-th largest is no smaller
    std::copy_n(maxima, blocks, scratch_.ordered_maxima);
    std::nth_element(scratch_.ordered_maxima, scratch_.ordered_maxima + (k - 1),
                     scratch_.ordered_maxima + blocks, std::greater<>());
    threshold = std::max(threshold, scratch_.ordered_maxima[k - 1]);
  }
  const int64_t found =
      scan_.collect(values, maxima, V_, threshold, scratch_.found_values, scratch_.found_tokens);
  take_found(found);
  if (found > k) {
    std::nth_element(scratch_.candidates, scratch_.candidates + k, scratch_.candidates + found,
                     comes_before);
  }
  return std::min(found, k);
}

// Makes candidates of the first `found` tokens that a scan left.
void RowSampler::take_found(int64_t found) {
  for (int64_t i = 0; i < found; ++i) {
    scratch_.candidates[i] = {scratch_.found_values[i], scratch_.found_tokens[i]};
  }
}

// Where top_p cuts the weights of the whole vocabulary, `total` together.
TopP RowSampler::cut_top_p(double total) {
  const double target = static_cast<double>(row_.top_p) * total;
  if (V_ >= kGuessedVocab) {
    const WeightRange range = guess_cut(scratch_.weights, V_, total - target);
    const HeavySum heavy = scan_.collect_between(scratch_.weights, V_, range.low, range.high,
                                                 scratch_.found_values, scratch_.found_tokens);
    take_found(heavy.found);
    const double sum = sum_of_values(scratch_.candidates, scratch_.candidates + heavy.found);
    if (heavy.sum < target && heavy.sum + sum >= target) {
      return keep_top_p(scratch_.candidates, heavy.found, target, heavy.sum);
    }
  }
  // Tokens this light weigh together at most half of what lies beyond the target.
  const double light = 0.5 * (total - target) / static_cast<double>(V_);
  const auto threshold = static_cast<float>(std::max(1.0, std::floor(light)));
  const int64_t found = scan_.collect(scratch_.weights, nullptr, V_, threshold,
                                      scratch_.found_values, scratch_.found_tokens);
  take_found(found);
  return keep_top_p(scratch_.candidates, found, target);
}

int32_t RowSampler::draw() {
  const float min_weight = row_.min_p * kSamplingUnit;
  if (row_.top_k > 0 && row_.top_k < V_) {
    const int64_t count = largest_k(values_, value_maxima_, row_.top_k);
    Candidate* end = scratch_.candidates;
    for (int64_t i = 0; i < count; ++i) {
      const Candidate& candidate = scratch_.candidates[i];
      const float weight = sampling_weight((candidate.value - largest_) / row_.temperature);
      if (weight > 0.0F && weight >= min_weight) {
        *end++ = {weight, candidate.token};
      }
    }
    return draw_among(scratch_.candidates, end - scratch_.candidates);
  }
  double total = scan_.weigh(values_, value_maxima_, V_, largest_, row_.temperature, min_weight,
                             scratch_.weights);
  SampleCut cut;
  if (row_.top_p < 1.0F) {
    const TopP kept = cut_top_p(total);
    cut = kept.cut;
    total = kept.sum;
  }
  const double target = static_cast<double>(uniform_draw(row_.seed, row_.position)) * total;
  return scan_.draw(scratch_.weights, V_, cut, target);
}

// The draw when only a few tokens, with positive weights, are left; applies top_p to them.
int32_t RowSampler::draw_among(Candidate* candidates, int64_t count) {
  Candidate* end = candidates + count;
  double total = 0.0;
  for (const Candidate* candidate = candidates; candidate != end; ++candidate) {
    total += candidate->value;
  }
  if (row_.top_p < 1.0F) {
    const TopP kept = keep_top_p(candidates, count, static_cast<double>(row_.top_p) * total);
    const Candidate last{kept.cut.weight, kept.cut.token};
    end = std::partition(candidates, end, [&](const Candidate& candidate) {
      return !comes_before(last, candidate);
    });
    total = kept.sum;
  }
  std::sort(candidates, end,
            [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
  const double target = static_cast<double>(uniform_draw(row_.seed, row_.position)) * total;
  double sum = 0.0;
  const Candidate* drawn = std::find_if(candidates, end, [&](const Candidate& candidate) {
    sum += candidate.value;
    return sum > target;
  });
  DS_CHECK(drawn != end);
  return drawn->token;
}

void RowSampler::add_logprobs(SampledToken& out) {
  const float largest = *std::max_element(scratch_.maxima, scratch_.maxima + sample_blocks(V_));
  const double log_sum =
      static_cast<double>(largest) + std::log(scan_.sum_exp(logits_, V_, largest));
  const auto logprob = [&](float logit) {
    return static_cast<float>(static_cast<double>(logit) - log_sum);
  };
  out.logprob = logprob(logits_[out.token]);
  if (row_.num_logprobs == 0) {
    return;
  }
  const int64_t count = largest_k(logits_, scratch_.maxima, row_.num_logprobs);
  std::sort(scratch_.candidates, scratch_.candidates + count, comes_before);
  for (int64_t i = 0; i < count; ++i) {
    out.top.push_back({scratch_.candidates[i].token, logprob(scratch_.candidates[i].value)});
  }
}

}  // namespace

void cpu_sample(CpuContext& context, const SampleArgs& args) {
  DS_CHECK(args.V > 0 && args.V <= kSamplingMaxVocab);
  context.require_thread_scratch(SampleScratch::bytes(args.V));
  const SampleScan scan = sample_scan(context.isa);
  parallel_dynamic(context.threads, args.B, [&](int64_t b, int32_t thread) {
    SampleScratch scratch(context.thread_scratch<float>(thread), args.V);
    RowSampler sampler(scan, args.rows[b], args.logits + b * args.logits_stride, args.V, scratch);
    args.out[b] = sampler.run();
  });
}

}  // namespace deltaserve
