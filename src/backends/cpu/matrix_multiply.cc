#include "backends/cpu/matrix_multiply.h"

#include <algorithm>
#include <atomic>

namespace deltaserve {
namespace {

// K per pass when several row tiles share a panel: 256 columns of K are 16 KiB of a bfloat16 panel,
// half of the smallest L1, and stay there while the tiles pass.
constexpr int64_t kBlockK = 256;

// Distance of the stream prefetch when one tile reads panels once, in bytes. Measured on Zen 4 with
// both cores: two streams 1 KiB ahead read 55 GB/s, one stream 38 to 42 whatever the distance.
constexpr int64_t kPrefetchTwo = 1024;
constexpr int64_t kPrefetchOne = 8192;

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// One tile: the panels are read once. If the accumulators allow it in two streams, each through one
// half of the panels, so that the prefetch runs from a panel into the next.
void multiply_stream(const MultiplyTask& task, float* c, TileSink sink) {
  const IndexRange rows = task.rows->tile(task.tiles.begin);
  GemmTile tile;
  tile.a = task.rows->data + rows.begin * task.rows->row_bytes;
  tile.c = c;
  tile.rows = rows.end - rows.begin;
  tile.k = task.rows->k;
  const int64_t count = task.panels.end - task.panels.begin;
  const int64_t half = 2 * tile.rows <= task.rows->max_tile_rows ? count / 2 : 0;
  tile.panel_bytes = half * task.matrix->panel_bytes;
  const auto run = [&](int64_t p, int64_t streams, int64_t prefetch) {
    tile.panels = streams;
    tile.panel = task.matrix->panel(p);
    tile.prefetch = task.matrix->panel(p) + prefetch;
    task.kernels->multiply(tile);
    for (int64_t q = 0; q < streams; ++q) {
      sink(c + q * tile.rows * kPanelColumns, rows.begin, tile.rows, p + q * half);
    }
  };
  for (int64_t p = task.panels.begin; p < task.panels.begin + half; ++p) {
    run(p, 2, kPrefetchTwo);
  }
  for (int64_t p = task.panels.begin + 2 * half; p < task.panels.end; ++p) {
    run(p, 1, kPrefetchOne);
  }
}

// Several tiles and up to kMaxTaskPanels panels: K in blocks, the accumulators of all tiles and
// panels in scratch meanwhile.
void multiply_blocked(const MultiplyTask& task, float* scratch, TileSink sink) {
  const PackedRows& rows = *task.rows;
  const DType dtype = task.matrix->dtype;
  const int64_t K = rows.k;
  const int64_t first_row = rows.tile(task.tiles.begin).begin;
  const int64_t task_rows = rows.tile(task.tiles.end - 1).end - first_row;
  GemmTile tile;
  tile.prefetch_to_l2 = true;
  for (int64_t k = 0; k < K; k += kBlockK) {
    tile.k = std::min(kBlockK, K - k);
    tile.accumulate = k > 0;
    const bool last_block = k + kBlockK >= K;
    for (int64_t p = task.panels.begin; p < task.panels.end; ++p) {
      tile.panel = task.matrix->panel(p) + panel_offset(dtype, k);
      for (int64_t t = task.tiles.begin; t < task.tiles.end; ++t) {
        const IndexRange range = rows.tile(t);
        tile.rows = range.end - range.begin;
        tile.a =
            rows.data + range.begin * rows.row_bytes + packed_offset(*task.kernels, k) * tile.rows;
        tile.c = scratch +
                 ((p - task.panels.begin) * task_rows + range.begin - first_row) * kPanelColumns;
        // The last tile brings the next panel's part near.
        const bool more = p + 1 < task.panels.end;
        tile.prefetch = t + 1 == task.tiles.end && (more || !last_block)
                            ? task.matrix->panel(more ? p + 1 : task.panels.begin) +
                                  panel_offset(dtype, more ? k : k + kBlockK)
                            : nullptr;
        task.kernels->multiply(tile);
        if (last_block) {
          sink(tile.c, range.begin, tile.rows, p);
        }
      }
    }
  }
}

}  // namespace

PackedRows packed_layout(const CpuContext& /*context*/, const MatrixKernels& kernels, int64_t rows,
                         int64_t K, std::byte* data) {
  PackedRows packed;
  packed.data = data;
  packed.rows = rows;
  packed.max_tile_rows = kernels.max_rows;
  packed.tiles = ceil_div(rows, packed.max_tile_rows);
  const int64_t multiple = kernels.group == 0 ? 2 : kPanelKStep;
  packed.k = ceil_div(K, multiple) * multiple;
  packed.row_bytes = packed_offset(kernels, packed.k);
  return packed;
}

int64_t packed_offset(const MatrixKernels& kernels, int64_t k) {
  const int64_t groups = kernels.group == 0 ? 0 : ceil_div(k, kernels.group);
  return k * kernels.packed_element_bytes + groups * kernels.packed_group_bytes;
}

int64_t packed_bytes(int64_t rows, int64_t K) {
  return rows * ceil_div(K, kPanelKStep) * kPanelKStep * 4;
}

void multiply_task(const MultiplyTask& task, float* scratch, TileSink sink) {
  if (task.tiles.end - task.tiles.begin == 1) {
    multiply_stream(task, scratch, sink);
    return;
  }
  MultiplyTask part = task;
  for (int64_t p = task.panels.begin; p < task.panels.end; p += kMaxTaskPanels) {
    part.panels = {p, std::min(p + kMaxTaskPanels, task.panels.end)};
    multiply_blocked(part, scratch, sink);
  }
}

TaskShape choose_task_shape(int64_t threads, int64_t panels, const PackedRows& rows) {
  // A few tasks a thread, so that one slow core does not hold up the others.
  const int64_t wanted = 4 * threads;
  TaskShape shape;
  const int64_t row_parts = ceil_div(rows.rows, kMaxTaskRows);
  shape.tiles = std::max<int64_t>(1, rows.tiles / row_parts);
  const int64_t parts = ceil_div(rows.tiles, shape.tiles);
  // A single tile keeps no accumulators, so its streams may be long.
  const int64_t most_panels = rows.tiles == 1 ? panels : kMaxTaskPanels;
  shape.panels = std::clamp<int64_t>(panels * parts / wanted, 1, most_panels);
  const int64_t tasks = parts * ceil_div(panels, shape.panels);
  if (tasks < wanted) {
    shape.tiles = std::max<int64_t>(1, shape.tiles * tasks / wanted);
  }
  return shape;
}

void multiply(CpuContext& context, const MultiplyArgs& args, TileSink sink) {
  const PanelMatrix& matrix = *args.matrix;
  const MatrixKernels& kernels = matrix_kernels(context, matrix.dtype);
  context.require_shared_scratch(
      static_cast<size_t>(packed_bytes(std::min(args.M, kRowBlock), matrix.K)));
  auto* packed_data = context.shared_scratch<std::byte>();
  const int64_t element = dtype_size(context.compute_dtype);
  for (int64_t first = 0; first < args.M; first += kRowBlock) {
    const int64_t count = std::min(kRowBlock, args.M - first);
    const auto* x = static_cast<const std::byte*>(args.x) + first * args.x_stride * element;
    const PackedRows packed = packed_layout(context, kernels, count, matrix.K, packed_data);
    const TaskShape shape = choose_task_shape(context.threads, matrix.panels, packed);
    const int64_t groups = ceil_div(matrix.panels, shape.panels);
    const int64_t tasks = groups * ceil_div(packed.tiles, shape.tiles);
    std::atomic<int64_t> next = 0;
    parallel_region(context.threads, [&](const Team& team) {
      const IndexRange share = team.share(packed.tiles);
      for (int64_t t = share.begin; t < share.end; ++t) {
        const IndexRange rows = packed.tile(t);
        kernels.pack(x + rows.begin * args.x_stride * element, args.x_stride, rows.end - rows.begin,
                     matrix.K, packed.data + rows.begin * packed.row_bytes);
      }
      team.barrier();
      auto* scratch = context.thread_scratch<float>(team.thread);
      for (int64_t i = next.fetch_add(1); i < tasks; i = next.fetch_add(1)) {
        const int64_t panel = i % groups * shape.panels;
        const int64_t tile = i / groups * shape.tiles;
        const MultiplyTask task{.kernels = &kernels,
                                .rows = &packed,
                                .matrix = &matrix,
                                .tiles = {tile, std::min(tile + shape.tiles, packed.tiles)},
                                .panels = {panel, std::min(panel + shape.panels, matrix.panels)}};
        multiply_task(task, scratch, [&](float* c, int64_t row, int64_t rows, int64_t p) {
          sink(c, first + row, rows, p);
        });
      }
    });
  }
}

}  // namespace deltaserve
