// The AMX tile registers. Inline assembly instead of the compiler's intrinsics: g++ 12 reads 8 of
// the 64 bytes of a configuration and lets stores sink below a tile load; here every access to
// memory is declared. tiles_emulated.h has the same class for machines without AMX.
#pragma once

#include <cstdint>

namespace deltaserve {
namespace {

// Eight tiles by number: 0 and 1 hold rows of activations, 2 and 3 weights, 4 to 7 sums of 16
// columns. Tiles 4, 5 (of tile 0) and 6, 7 (of tile 1) have the rows of their activations.
// Configured while the object lives and released after it: live tiles make every context switch
// slower.
class Tiles {
 public:
  // Rows (1 to 16) of tile 0 and of tile 1, and how many groups of 4 bytes along K a product takes
  // (1 to 16).
  Tiles(int64_t rows0, int64_t rows1, int64_t depth) {
    Config config;
    for (int i = 0; i < 8; ++i) {
      const bool activations = i < 2;
      const bool weights = i == 2 || i == 3;
      const int64_t rows = weights ? depth : i == 0 || i == 4 || i == 5 ? rows0 : rows1;
      config.rows[i] = static_cast<uint8_t>(rows);
      config.row_bytes[i] = static_cast<uint16_t>(activations ? 4 * depth : 64);
    }
    asm volatile("ldtilecfg %0" : : "m"(config));
  }
  ~Tiles() { asm volatile("tilerelease" : : : "memory"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  template <int T>
  void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(T));
  }
  // Rows `stride` bytes apart.
  template <int T>
  void load(const void* from, int64_t stride) {
    asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(T), "r"(from), "r"(stride) : "memory");
  }
  template <int T>
  void store(void* to, int64_t stride) {
    asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(T), "r"(to), "r"(stride) : "memory");
  }
  // C += A B in pairs of bfloat16: for each element the even products in one chain of fused
  // multiply-adds from zero, the odd ones in another, their sum added to C; denormals are zero.
  template <int C, int A, int B>
  void dot_bf16() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
  // C += A B in quads of bytes, A with and B without sign, exact in 32 bits.
  template <int C, int A, int B>
  void dot_bytes() {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }
  // The same with signs in both.
  template <int C, int A, int B>
  void dot_signed_bytes() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
  }

 private:
  struct alignas(64) Config {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
  };
};

}  // namespace
}  // namespace deltaserve
