// The class of tiles_amx.h without AMX, for tests: the same bits (an emulation in this order agreed
// with the instruction in 51,200 of 51,200 results), over Vec, so that the kernels' logic runs on
// every machine. The caller's MXCSR flushes denormals, as compute threads do.
#pragma once

#include <cstdint>
#include <cstring>

namespace deltaserve {
namespace {

class Tiles {
 public:
  Tiles(int64_t rows0, int64_t rows1, int64_t depth)
      : rows_{rows0, rows1, depth, depth, rows0, rows0, rows1, rows1}, depth_(depth) {
    std::memset(data_, 0x7f, sizeof(data_));  // what was never loaded shows
  }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  template <int T>
  void zero() {
    std::memset(data_[T], 0, sizeof(data_[T]));
  }
  template <int T>
  void load(const void* from, int64_t stride) {
    for (int64_t r = 0; r < rows_[T]; ++r) {
      std::memcpy(data_[T][r], static_cast<const char*>(from) + r * stride, row_bytes(T));
    }
  }
  template <int T>
  void store(void* to, int64_t stride) {
    for (int64_t r = 0; r < rows_[T]; ++r) {
      std::memcpy(static_cast<char*>(to) + r * stride, data_[T][r], row_bytes(T));
    }
  }

  template <int C, int A, int B>
  void dot_bf16() {
    for (int64_t r = 0; r < rows_[C]; ++r) {
      auto* sums = reinterpret_cast<float*>(data_[C][r]);
      for (int column = 0; column < kColumns; column += kLanes) {
        Vec even = vec_zero();
        Vec odd = vec_zero();
        for (int64_t k = 0; k < depth_; ++k) {
          float a[2];
          const auto* pair = reinterpret_cast<const uint16_t*>(data_[A][r]) + 2 * k;
          a[0] = widen(pair[0]);
          a[1] = widen(pair[1]);
          const auto* b = reinterpret_cast<const uint16_t*>(data_[B][k]) + 2 * column;
          even = vec_fma(vec_set(a[0]), vec_even(b), even);
          odd = vec_fma(vec_set(a[1]), vec_odd(b), odd);
        }
        vec_store(sums + column, vec_add(vec_load(sums + column), vec_add(even, odd)));
      }
    }
  }

  // A within -64 to 64, as int_dot4 has it.
  template <int C, int A, int B>
  void dot_bytes() {
    for (int64_t r = 0; r < rows_[C]; ++r) {
      auto* sums = reinterpret_cast<int32_t*>(data_[C][r]);
      for (int64_t k = 0; k < depth_; ++k) {
        int32_t quad = 0;
        std::memcpy(&quad, data_[A][r] + 4 * k, sizeof(quad));
        const uint8_t* b = data_[B][k];
        for (int column = 0; column < kColumns; column += kLanes) {
          const IntVec sum = int_load(sums + column);
          int_store(sums + column, int_dot4(sum, bytes_load(b + 4 * column), quad));
        }
      }
    }
  }

  template <int C, int A, int B>
  void dot_signed_bytes() {
    for (int64_t r = 0; r < rows_[C]; ++r) {
      auto* sums = reinterpret_cast<int32_t*>(data_[C][r]);
      for (int64_t i = 0; i < 4 * depth_; ++i) {
        const auto factor = static_cast<int8_t>(data_[A][r][i]);
        const uint8_t* b = data_[B][i / 4] + i % 4;
        for (int column = 0; column < kColumns; ++column) {
          sums[column] += factor * static_cast<int8_t>(b[4 * column]);
        }
      }
    }
  }

 private:
  static constexpr int kColumns = 16;

  size_t row_bytes(int tile) const { return static_cast<size_t>(tile < 2 ? 4 * depth_ : 64); }

  alignas(64) uint8_t data_[8][16][64];
  int64_t rows_[8];
  int64_t depth_;
};

}  // namespace
}  // namespace deltaserve
