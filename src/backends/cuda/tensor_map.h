// Descriptions of matrices for the copy engine of sm_90.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace deltaserve {

// A bfloat16 matrix [rows, columns] whose rows lie `stride` elements apart, read in boxes of
// `box_rows` rows (up to 256) x 64 columns: 128 bytes a row, swizzled. `data` is on a border of 16
// bytes and `stride` a multiple of 8. Throws CudaError if the driver has no such maps.
CUtensorMap make_tensor_map(const void* data, int64_t rows, int64_t columns, int64_t stride,
                            uint32_t box_rows);

}  // namespace deltaserve
