// Parts of the gated delta rule over Vec, on strips of 32 value columns (see kernel_table.h for the
// formulas). Included as gemm_impl.h.
#pragma once

#include "backends/cpu/isa/gemm_impl.h"

namespace deltaserve {
namespace {

// Two sweeps over a strip: the first reads it (from memory, fetching the next strip meanwhile), the
// second rewrites it in L1.
void delta_rule_step(const DeltaRuleStep& step) {
  constexpr int64_t kRow = kPanelColumns;
  Vec by_k[kVecs];
  Vec by_q[kVecs];
  for (int j = 0; j < kVecs; ++j) {
    by_k[j] = vec_zero();
    by_q[j] = vec_zero();
  }
  const auto* next = reinterpret_cast<const char*>(step.state + step.dk * kRow);
  for (int64_t i = 0; i < step.dk; ++i) {
    const float* row = step.state + i * kRow;
    prefetch_near(next + 128 * i);
    prefetch_near(next + 128 * i + 64);
    const Vec k = vec_set(step.k[i]);
    const Vec q = vec_set(step.q[i]);
#pragma GCC unroll 8
    for (int j = 0; j < kVecs; ++j) {
      const Vec s = vec_load(row + j * kLanes);
      by_k[j] = vec_fma(k, s, by_k[j]);
      by_q[j] = vec_fma(q, s, by_q[j]);
    }
  }
  const Vec decay = vec_set(step.decay);
  Vec delta[kVecs];
  for (int j = 0; j < kVecs; ++j) {
    const Vec error = vec_sub(vec_load(step.v + j * kLanes), vec_mul(decay, by_k[j]));
    delta[j] = vec_mul(vec_set(step.beta), error);
    const Vec out = vec_fma(delta[j], vec_set(step.kq), vec_mul(decay, by_q[j]));
    vec_store(step.out + j * kLanes, out);
  }
  for (int64_t i = 0; i < step.dk; ++i) {
    float* row = step.state + i * kRow;
    const Vec k = vec_set(step.k[i]);
#pragma GCC unroll 8
    for (int j = 0; j < kVecs; ++j) {
      const Vec decayed = vec_mul(decay, vec_load(row + j * kLanes));
      vec_store(row + j * kLanes, vec_fma(k, delta[j], decayed));
    }
  }
}

void scale_rows(float* c, int64_t rows, const float* factor) {
  for (int64_t r = 0; r < rows; ++r, c += kPanelColumns) {
    for (int j = 0; j < kVecs; ++j) {
      vec_store(c + j * kLanes, vec_mul(vec_load(c + j * kLanes), vec_set(factor[r])));
    }
  }
}

void delta_residual(float* c, int64_t rows, const float* v, const float* decay, const float* beta) {
  for (int64_t r = 0; r < rows; ++r, c += kPanelColumns, v += kPanelColumns) {
    for (int j = 0; j < kVecs; ++j) {
      const Vec decayed = vec_mul(vec_set(decay[r]), vec_load(c + j * kLanes));
      const Vec error = vec_sub(vec_load(v + j * kLanes), decayed);
      vec_store(c + j * kLanes, vec_mul(vec_set(beta[r]), error));
    }
  }
}

// Column by column of the unit triangle: row j is final when all rows before it were added, and is
// then added to the rows below, which are independent of each other.
void solve_block(float* c, const float* a) {
  constexpr int kRows = static_cast<int>(kSolveRows);
  for (int column = 0; column < static_cast<int>(kPanelColumns); column += kLanes) {
    Vec rows[kRows];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      rows[i] = vec_load(c + i * kPanelColumns + column);
    }
#pragma GCC unroll 16
    for (int j = 0; j < kRows; ++j) {
#pragma GCC unroll 16
      for (int i = j + 1; i < kRows; ++i) {
        rows[i] = vec_fma(vec_set(a[i * kRows + j]), rows[j], rows[i]);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      vec_store(c + i * kPanelColumns + column, rows[i]);
    }
  }
}

}  // namespace
}  // namespace deltaserve
