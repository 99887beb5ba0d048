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

// bfloat16 rows of heads, [rows, num_heads, head_dim] with `stride` elements from row to row.
struct HeadRows {
  const void* data = nullptr;  // on a border of 16 bytes
  int64_t rows = 0;
  int64_t num_heads = 0;
  int64_t head_dim = 0;  // a multiple of 8
  int64_t stride = 0;    // a multiple of head_dim
};

// Such rows, read in boxes of one head's `box_columns` x `box_rows` at (column, head, row): 64
// columns are 128 bytes a row, swizzled, 16 are 32 bytes a row, swizzled. Columns from head_dim on
// and rows beyond the last read as zero. Errors as above.
CUtensorMap make_heads_map(const HeadRows& heads, uint32_t box_columns, uint32_t box_rows);

}  // namespace deltaserve
