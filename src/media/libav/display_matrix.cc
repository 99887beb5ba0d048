// A display matrix [a b u; c d v; x y w] shows the stored pixel (p, q) at (a p + c q, b p + d q),
// rows downwards. EXIF's eight values are its eight forms with one entry of 1 or -1 a row.
#include "media/libav/display_matrix.h"

#include <algorithm>
#include <array>

extern "C" {
#include <libavformat/avformat.h>
}

namespace deltaserve {
namespace {

constexpr std::array<std::array<int32_t, 4>, 8> kForms = {{
    {1, 0, 0, 1},    // 1: as it is
    {-1, 0, 0, 1},   // 2: left and right mirrored
    {-1, 0, 0, -1},  // 3: half a turn
    {1, 0, 0, -1},   // 4: top and bottom mirrored
    {0, 1, 1, 0},    // 5: rows and columns swapped
    {0, 1, -1, 0},   // 6: a quarter to the right
    {0, -1, -1, 0},  // 7: swapped over the other diagonal
    {0, -1, 1, 0},   // 8: a quarter to the left
}};

constexpr size_t kMatrixEntries = 9;

int32_t sign(int32_t value) {
  return value > 0 ? 1 : value < 0 ? -1 : 0;
}

}  // namespace

int32_t stream_orientation(const AVStream& stream) {
  size_t bytes = 0;
  const auto* matrix = reinterpret_cast<const int32_t*>(
      av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &bytes));
  if (matrix == nullptr || bytes < kMatrixEntries * sizeof(int32_t)) return 1;
  const std::array<int32_t, 4> form = {sign(matrix[0]), sign(matrix[1]), sign(matrix[3]),
                                       sign(matrix[4])};
  const auto* found = std::ranges::find(kForms, form);
  return found == kForms.end() ? 1 : static_cast<int32_t>(found - kForms.begin()) + 1;
}

}  // namespace deltaserve
