// Attention, of text and of pictures, decoding delta layers, experts and matrix products of few and
// of many rows on CUDA: checked against float64 on odd shapes, in both dtypes, then timed beside
// their floors.
//   bench_gpu_kernels check|time [attention|mixer|delta|experts|skinny|layers|many_rows|
//                                 sustained|invariant|vision]
#include <cstdio>
#include <string>

#include "kernel_case.h"

using namespace deltaserve;

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "check";
  const std::string only = argc > 2 ? argv[2] : "";
  if (mode != "check" && mode != "time") {
    std::fprintf(stderr,
                 "usage: bench_gpu_kernels check|time "
                 "[attention|mixer|delta|experts|skinny|layers|many_rows|sustained|invariant|"
                 "vision]\n");
    return 2;
  }
  const auto wanted = [&](const char* name) { return only.empty() || only == name; };
  try {
    CudaContext bf16(DType::kBF16, 0);
    if (mode == "time") {
      if (wanted("skinny")) bench::time_skinny(bf16);
      if (wanted("layers")) bench::time_layers(bf16);
      if (wanted("many_rows")) bench::time_many_rows(bf16);
      if (wanted("sustained")) bench::time_sustained(bf16);
      if (wanted("invariant")) bench::time_invariant(bf16);
      if (wanted("attention")) bench::time_attention(bf16);
      if (wanted("mixer")) bench::time_mixer(bf16);
      if (wanted("delta")) bench::time_delta_decode(bf16);
      if (wanted("experts")) bench::time_experts(bf16);
      if (wanted("experts")) bench::time_expert_blocks(bf16);
      if (wanted("layers") || only == "mixer") bench::time_decode_layer(bf16);
      if (wanted("vision")) bench::time_vision(bf16);
      return 0;
    }
    CudaContext f32(DType::kF32, 0);
    if (wanted("skinny")) bench::check_skinny(bf16);
    if (wanted("many_rows")) bench::check_many_rows(bf16);
    if (wanted("invariant")) bench::check_invariant(bf16);
    if (wanted("attention")) bench::check_attention(f32);
    if (wanted("attention")) bench::check_attention(bf16);
    if (wanted("delta")) bench::check_delta_decode(bf16);
    if (wanted("experts")) bench::check_experts(f32);
    if (wanted("experts")) bench::check_experts(bf16);
    if (wanted("experts")) bench::check_expert_blocks(bf16);
    if (wanted("vision")) bench::check_vision(bf16);
  } catch (const std::exception& error) {
    std::printf("FAILED: %s\n", error.what());
    return 1;
  }
  std::printf("%d failures\n", bench::failures());
  return bench::failures() == 0 ? 0 : 1;
}
