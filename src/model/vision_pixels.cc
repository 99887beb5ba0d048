// There are only 256 samples a channel, so a table has all values of X.
#include "model/vision_pixels.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/check.h"

namespace deltaserve {
namespace {

constexpr size_t kLevels = 256;

template <typename X>
X to_x(float value) {
  if constexpr (std::is_same_v<X, float>) {
    return value;
  } else {
    return to_bfloat16(value);
  }
}

template <typename X>
using ValueTable = std::array<std::array<X, kLevels>, kPixelChannels>;

template <typename X>
ValueTable<X> make_table(const VisionItem& item) {
  ValueTable<X> table;
  for (size_t c = 0; c < kPixelChannels; ++c) {
    for (size_t v = 0; v < kLevels; ++v) {
      table[c][v] = to_x<X>((static_cast<float>(v) - item.offset[c]) / item.scale[c]);
    }
  }
  return table;
}

template <typename X>
void write_rows(const VisionItem& item, size_t begin, size_t end, size_t repeats, X* out) {
  const ValueTable<X> table = make_table<X>(item);
  const size_t row_bytes = item.patches.size() / static_cast<size_t>(item.num_patches());
  const size_t run = row_bytes / kPixelChannels;  // samples of a channel
  const uint8_t* from = item.patches.data() + begin * row_bytes;
  for (size_t row = begin; row < end; ++row) {
    for (const auto& values : table) {
      for (size_t i = 0; i < run; ++i) out[i] = values[from[i]];
      from += run;
      for (size_t copy = 1; copy < repeats; ++copy) std::copy_n(out, run, out + copy * run);
      out += repeats * run;
    }
  }
}

}  // namespace

void write_pixel_rows(const VisionItem& item, int64_t begin, int64_t end, int32_t num_frames,
                      DType x_dtype, std::span<std::byte> out) {
  DS_CHECK(item.frames == 1 || item.frames == num_frames);
  DS_CHECK(0 <= begin && begin <= end && end <= item.num_patches());
  DS_CHECK(x_dtype == DType::kF32 || x_dtype == DType::kBF16);
  const auto repeats = static_cast<size_t>(num_frames / item.frames);
  const auto row_bytes = static_cast<int64_t>(item.patches.size()) / item.num_patches();
  DS_CHECK(out.size() ==
           static_cast<size_t>((end - begin) * row_bytes * dtype_size(x_dtype)) * repeats);
  const auto first = static_cast<size_t>(begin);
  const auto last = static_cast<size_t>(end);
  if (x_dtype == DType::kF32) {
    write_rows(item, first, last, repeats, reinterpret_cast<float*>(out.data()));
  } else {
    write_rows(item, first, last, repeats, reinterpret_cast<BFloat16*>(out.data()));
  }
}

}  // namespace deltaserve
