// Kernels for AMX (bfloat16 and int8 tiles) beside AVX-512 with VNNI. The order of TDPBF16PS is not
// that of VDPBF16PS, so bfloat16 products have bits of their own here: always tiles, for any number
// of rows. With DELTASERVE_AMX_EMULATION the same kernels run on tiles in memory, for tests.
#include "backends/cpu/isa/int_vec_avx512.h"
#include "backends/cpu/isa/split_avx512.h"
#include "backends/cpu/isa/tables.h"
// The code over Vec follows its definition.
#include "backends/cpu/isa/table.inc"
#ifdef DELTASERVE_AMX_EMULATION
#include "backends/cpu/isa/tiles_emulated.h"
#else
#include "backends/cpu/isa/tiles_amx.h"
#endif
// The code over Tiles follows its definition.
#include "backends/cpu/isa/attention_amx.inc"
#include "backends/cpu/isa/delta_amx.inc"
#include "backends/cpu/isa/gemm_amx.inc"
#include "backends/cpu/isa/gemm_int4_amx.inc"
#include "backends/cpu/isa/gemm_int8_amx.inc"

namespace deltaserve {
namespace {

float run_tiles(int64_t iterations) {
  alignas(64) uint16_t halves[512];
  for (uint16_t& half : halves) {
    half = 0x3f00;  // 0.5
  }
  alignas(64) float sums[256];
  Tiles tiles(16, 16, 16);
  tiles.load<0>(halves, 64);
  tiles.load<1>(halves, 64);
  tiles.load<2>(halves, 64);
  tiles.load<3>(halves, 64);
  tiles.zero<4>();
  tiles.zero<5>();
  tiles.zero<6>();
  tiles.zero<7>();
  for (int64_t i = 0; i < iterations; ++i) {
    tiles.dot_bf16<4, 0, 2>();
    tiles.dot_bf16<5, 0, 3>();
    tiles.dot_bf16<6, 1, 2>();
    tiles.dot_bf16<7, 1, 3>();
  }
  tiles.store<4>(sums, 64);
  return sums[0];
}

constexpr CpuKernels make_table() {
  CpuKernels table = vec_kernels("amx", "", "avx512 f32 x bf16 FMA", "avx512 f32 FMA", "", "");
  table.short_bf16.name = "avx512 bf16 widened + FMA";
  table.bf16 = {pack_amx, multiply_amx, 2, "amx TDPBF16PS", kAmxRows};
  table.bf16.packed_k = kPanelKStep;
  table.bf16.multiply_block = multiply_amx_block;
  table.bf16.task_rows = 512;
  table.bf16.task_panels = 8;
  table.bf16.one_stream_ahead = 2048;
  table.bf16.two_streams_ahead = 2048;
  constexpr const char* kInt8 = "amx int8 x 14 bits TDPBSUD, few rows VPDPBUSD";
  constexpr const char* kInt4 = "amx int4 x 8 bits TDPBSSD, few rows VPDPBUSD";
  table.int8 = int8_amx_kernels<uint16_t>(kInt8);
  table.int4 = int4_amx_kernels<uint16_t>(kInt4);
  table.f32_int8 = int8_amx_kernels<float>(kInt8);
  table.f32_int4 = int4_amx_kernels<float>(kInt4);
  table.delta_tiles = kDeltaTileKernels;
  table.attention_scores = attention_scores;
  table.attention_softmax = attention_softmax;
  table.attention_pack_values = attention_pack_values;
  table.attention_values = attention_values;
  table.run_bf16 = run_tiles;
  table.bf16_flop = 4 * 2 * 16 * 16 * 32;
  return table;
}

}  // namespace

constexpr CpuKernels kAmxKernels = make_table();

}  // namespace deltaserve
