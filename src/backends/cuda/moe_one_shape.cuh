// The widths that one token's experts (moe_one.cu) are compiled for, and how the work is divided.
#pragma once

#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/skinny_form.cuh"

namespace deltaserve::cuda {

inline constexpr int kOneH = 2048;  // hidden size
inline constexpr int kOneI = 512;   // width of an expert, and of the shared one
inline constexpr int kOneMostK = 16;
inline constexpr int kOneMostE = 512;
inline constexpr int kOneWarps = 16;
inline constexpr int kOneThreads = kOneWarps * kWarp;
inline constexpr int kOneGrid = kOneH / kSkinnyRows;       // a thread block has 16 rows of down
inline constexpr int kOneTiles = 2 * kOneI / kSkinnyRows;  // of an expert's gate and up
inline constexpr int kOneMostTiles = kOneMostK * kOneTiles / kOneGrid;  // of a thread block
inline constexpr int kOneChains = 8;        // of a row's sum in gate, up and down: moe_few.cu
inline constexpr int kOneRouteChains = 16;  // and in the routing products: moe_route.cu
inline constexpr int kOneRingPieces = 4;    // of weights, on the way to a warp: 8 KiB
// A row of down is so many warps' work.
inline constexpr int kOneHalves = kOneI / kSkinnyPiece / kOneRingPieces;
// Elements between the shared expert's rows of down: spreads them over the banks.
inline constexpr int kOneDownStride = kOneI + 32;
static_assert(kOneH == 4 * kOneThreads && kOneH == kOneChains * kOneRingPieces * kSkinnyPiece);
static_assert(kOneH == 2 * kOneRouteChains * kSkinnyPiece && kOneRouteChains == kOneWarps);
static_assert(kOneI == kOneChains * kSkinnyPiece);

}  // namespace deltaserve::cuda
