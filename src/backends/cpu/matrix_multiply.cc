#include "backends/cpu/matrix_multiply.h"

#include <algorithm>

#include "backends/cpu/node_tasks.h"

namespace deltaserve {
namespace {

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// One tile: the panels are read once. If the accumulators allow it in two streams, each through one
// half of the panels, so that the prefetch runs from a panel into the next.
void multiply_stream(const MultiplyTask& task, float* c, TileSink sink) {
  const IndexRange rows = task.rows->tile(task.tiles.begin);
  GemmTile tile;
  tile.a = task.rows->tile_data(task.tiles.begin);
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
    run(p, 2, task.kernels->two_streams_ahead);
  }
  for (int64_t p = task.panels.begin + 2 * half; p < task.panels.end; ++p) {
    run(p, 1, task.kernels->one_stream_ahead);
  }
}

int64_t rows_of(const MultiplyTask& task) {
  return task.rows->tile(task.tiles.end - 1).end - task.rows->tile(task.tiles.begin).begin;
}

// The tiles before the last, partial one go through the kernels' own blocks.
IndexRange multiply_full_tiles(const MultiplyTask& task, int64_t next_panel, float* scratch) {
  const PackedRows& rows = *task.rows;
  const MatrixKernels& kernels = *task.kernels;
  const IndexRange last = rows.tile(task.tiles.end - 1);
  const bool all_full = last.end - last.begin == rows.max_tile_rows;
  const IndexRange full = {task.tiles.begin, all_full ? task.tiles.end : task.tiles.end - 1};
  const std::byte* a = rows.tile_data(full.begin);
  GemmBlock block;
  block.a_tile_bytes = rows.max_tile_rows * rows.row_bytes + rows.tile_gap;
  block.tiles = full.end - full.begin;
  block.panel_bytes = task.matrix->panel_bytes;
  block.panels = task.panels.end - task.panels.begin;
  block.c = scratch;
  block.c_panel_floats = rows_of(task) * kPanelColumns;
  const auto a_at = [&](int64_t k) { return a + packed_offset(kernels, k) * rows.max_tile_rows; };
  const auto panel_at = [&](int64_t panel, int64_t k) {
    return task.matrix->panel(panel) + panel_offset(task.matrix->dtype, k);
  };
  for (int64_t k = 0; k < rows.k; k += kernels.block_k) {
    const int64_t next_k = k + kernels.block_k;
    const bool more = next_k < rows.k;
    block.k = std::min(kernels.block_k, rows.k - k);
    block.accumulate = k > 0;
    block.a = a_at(k);
    block.panel = panel_at(task.panels.begin, k);
    block.next_a = a_at(more ? next_k : 0);
    block.next_panel = more ? panel_at(task.panels.begin, next_k) : panel_at(next_panel, 0);
    kernels.multiply_block(block);
  }
  return {full.end, task.tiles.end};
}

// Several tiles and up to task_panels panels: K in blocks, the accumulators of `tiles` and all
// panels in scratch meanwhile.
void multiply_tiles(const MultiplyTask& task, IndexRange tiles, float* scratch, TileSink sink) {
  const PackedRows& rows = *task.rows;
  const DType dtype = task.matrix->dtype;
  const int64_t K = rows.k;
  const int64_t first_row = rows.tile(task.tiles.begin).begin;
  const int64_t task_rows = rows_of(task);
  const int64_t block_k = task.kernels->block_k;
  GemmTile tile;
  tile.prefetch_to_l2 = true;
  for (int64_t k = 0; k < K; k += block_k) {
    tile.k = std::min(block_k, K - k);
    tile.accumulate = k > 0;
    const bool last_block = k + block_k >= K;
    for (int64_t p = task.panels.begin; p < task.panels.end; ++p) {
      tile.panel = task.matrix->panel(p) + panel_offset(dtype, k);
      for (int64_t t = tiles.begin; t < tiles.end; ++t) {
        const IndexRange range = rows.tile(t);
        tile.rows = range.end - range.begin;
        tile.a = rows.tile_data(t) + packed_offset(*task.kernels, k) * tile.rows;
        tile.c = scratch +
                 ((p - task.panels.begin) * task_rows + range.begin - first_row) * kPanelColumns;
        // The last tile brings the next panel's part near.
        const bool more = p + 1 < task.panels.end;
        tile.prefetch = t + 1 == tiles.end && (more || !last_block)
                            ? task.matrix->panel(more ? p + 1 : task.panels.begin) +
                                  panel_offset(dtype, more ? k : k + block_k)
                            : nullptr;
        task.kernels->multiply(tile);
        if (last_block) {
          sink(tile.c, range.begin, tile.rows, p);
        }
      }
    }
  }
}

void multiply_blocked(const MultiplyTask& task, int64_t next_panel, float* scratch, TileSink sink) {
  if (task.kernels->multiply_block == nullptr) {
    multiply_tiles(task, task.tiles, scratch, sink);
    return;
  }
  const IndexRange rest = multiply_full_tiles(task, next_panel, scratch);
  // Panels inside: what follows each other in a row of the result is written together.
  for (int64_t t = task.tiles.begin; t < rest.begin; ++t) {
    const IndexRange range = task.rows->tile(t);
    const int64_t row = range.begin - task.rows->tile(task.tiles.begin).begin;
    for (int64_t p = task.panels.begin; p < task.panels.end; ++p) {
      sink(scratch + ((p - task.panels.begin) * rows_of(task) + row) * kPanelColumns, range.begin,
           range.end - range.begin, p);
    }
  }
  multiply_tiles(task, rest, scratch, sink);
}

// Blocks read the same part of K of many tiles, which are a power of two apart where K is one:
// L2 would have too few places for them. An odd number of 16 KiB from tile to tile spreads the
// parts: with K of 4096 a product reaches 47 % of the peak instead of 39.
int64_t tile_gap(const PackedRows& rows) {
  constexpr int64_t kPart = int64_t{16} << 10;
  const int64_t parts = rows.max_tile_rows * rows.row_bytes / kPart;
  return rows.full_tiles && rows.tiles > 1 && parts >= 2 && parts % 2 == 0 ? kPart : 0;
}

}  // namespace

PackedRows packed_layout(const CpuContext& /*context*/, const MatrixKernels& kernels, int64_t rows,
                         int64_t K, std::byte* data) {
  PackedRows packed;
  packed.data = data;
  packed.rows = rows;
  packed.max_tile_rows = kernels.max_rows;
  packed.tiles = ceil_div(rows, packed.max_tile_rows);
  packed.full_tiles = kernels.multiply_block != nullptr;
  packed.k = ceil_div(K, kernels.packed_k) * kernels.packed_k;
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
  for (int64_t p = task.panels.begin; p < task.panels.end; p += task.kernels->task_panels) {
    part.panels = {p, std::min(p + task.kernels->task_panels, task.panels.end)};
    const int64_t next_panel = std::min(part.panels.end, task.matrix->panels - 1);
    multiply_blocked(part, next_panel, scratch, sink);
  }
}

TaskShape choose_task_shape(int64_t threads, int64_t panels, const MatrixKernels& kernels,
                            const PackedRows& rows) {
  // A few tasks a thread, so that one slow core does not hold up the others.
  const int64_t wanted = 4 * threads;
  TaskShape shape;
  const int64_t row_parts = ceil_div(rows.rows, kernels.task_rows);
  shape.tiles = std::max<int64_t>(1, rows.tiles / row_parts);
  const int64_t parts = ceil_div(rows.tiles, shape.tiles);
  // A single tile keeps no accumulators, so its streams may be long.
  const int64_t most_panels = rows.tiles == 1 ? panels : kernels.task_panels;
  shape.panels = std::clamp<int64_t>(panels * parts / wanted, 1, most_panels);
  const int64_t tasks = parts * ceil_div(panels, shape.panels);
  if (tasks < wanted) {
    shape.tiles = std::max<int64_t>(1, shape.tiles * tasks / wanted);
  }
  return shape;
}

void multiply(CpuContext& context, const MultiplyArgs& args, TileSink sink) {
  const PanelMatrix& matrix = *args.matrix;
  const MatrixKernels& all_kernels = matrix_kernels(context, matrix.dtype);
  context.require_shared_scratch(
      static_cast<size_t>(packed_bytes(std::min(args.M, kRowBlock), matrix.K)));
  auto* packed_data = context.shared_scratch<std::byte>();
  const int64_t element = dtype_size(context.compute_dtype);
  for (int64_t first = 0; first < args.M; first += kRowBlock) {
    const int64_t count = std::min(kRowBlock, args.M - first);
    const MatrixKernels& kernels = kernels_for_rows(all_kernels, count);
    const auto* x = static_cast<const std::byte*>(args.x) + first * args.x_stride * element;
    PackedRows packed = packed_layout(context, kernels, count, matrix.K, packed_data);
    packed.tile_gap = tile_gap(packed);
    const TaskShape shape = choose_task_shape(context.threads, matrix.panels, kernels, packed);
    const int64_t groups = ceil_div(matrix.panels, shape.panels);
    const int64_t row_parts = ceil_div(packed.tiles, shape.tiles);
    NodeTasks tasks(context.placement, [&](int32_t part) {
      const IndexRange own = context.placement.share(groups, part);
      return (own.end - own.begin) * row_parts;
    });
    parallel_region(context.threads, [&](const Team& team) {
      const IndexRange share = team.share(packed.tiles);
      for (int64_t t = share.begin; t < share.end; ++t) {
        const IndexRange rows = packed.tile(t);
        kernels.pack(x + rows.begin * args.x_stride * element, args.x_stride, rows.end - rows.begin,
                     matrix.K, packed.tile_data(t));
      }
      team.barrier();
      auto* scratch = context.thread_scratch<float>(team.thread);
      tasks.run(team.thread, [&](int32_t part, int64_t i) {
        const IndexRange own = context.placement.share(groups, part);
        const int64_t panel = (own.begin + i % (own.end - own.begin)) * shape.panels;
        const int64_t tile = i / (own.end - own.begin) * shape.tiles;
        const MultiplyTask task{.kernels = &kernels,
                                .rows = &packed,
                                .matrix = &matrix,
                                .tiles = {tile, std::min(tile + shape.tiles, packed.tiles)},
                                .panels = {panel, std::min(panel + shape.panels, matrix.panels)}};
        multiply_task(task, scratch, [&](float* c, int64_t row, int64_t rows, int64_t p) {
          sink(c, first + row, rows, p);
        });
      });
    });
  }
}

}  // namespace deltaserve
