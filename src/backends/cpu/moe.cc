// moe: the pairs (token, expert) of a block of tokens are sorted by expert; every expert multiplies
// its rows at once. Three phases with a barrier between them: gather and pack the rows; gate_up
// with silu * up into the packed rows of down; down into a row of float32 per pair. Then each token
// adds its rows in ascending expert id. Tasks are rows of one expert times some of its panels,
// handed out dynamically: none of this can change a bit. With integer weights, and on AMX, a fourth
// phase packs the rows of down, whose steps of K span several panels of gate_up.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "backends/cpu/experts_weight.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/matrix_multiply.h"
#include "backends/cpu/matrix_ops.h"
#include "backends/cpu/moe_workspace.h"
#include "backends/cpu/node_tasks.h"
#include "backends/cpu/panel_matrix.h"
#include "backends/cpu/tile_store.h"

namespace deltaserve {
namespace {

constexpr int64_t kHalfPanel = kPanelColumns / 2;

// Tokens that share one reading of the experts. With 8 of 256 experts a token, an expert then gets
// 32 rows, where products take as long as reading; more only costs memory.
constexpr int64_t kTokenBlock = 1024;

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

class MoeBlock {
 public:
  MoeBlock(const CpuContext& context, const MoeArgs& args, int64_t first, int64_t tokens,
           MoeWorkspace& workspace)
      : context_(context),
        args_(args),
        weight_(static_cast<const CpuExpertsWeight&>(*args.experts)),
        gate_up_(matrix_kernels(context, weight_.gate_up.dtype)),
        down_(matrix_kernels(context, weight_.down.dtype)),
        first_(first),
        tokens_(tokens),
        ws_(workspace) {}

  void run() {
    sort_by_expert(args_, tokens_, args_.expert_ids + first_ * args_.K, ws_);
    std::atomic<int64_t> next_row = 0;
    std::atomic<int64_t> next_inner = 0;
    const ExpertPanels gate_up = weight_.gate_up_panels();
    const ExpertPanels down = weight_.down_panels();
    NodeTasks gate_up_tasks = tasks_of(gate_up);
    NodeTasks down_tasks = tasks_of(down);
    parallel_region(context_.threads, [&](const Team& team) {
      auto* scratch = context_.thread_scratch<float>(team.thread);
      for_each(next_row, ws_.num_works, [&](int64_t i) { pack_rows(ws_.works[i], scratch); });
      team.barrier();
      gate_up_tasks.run(team.thread, [&](int32_t node, int64_t i) {
        multiply_gate_up(part_of(gate_up, node, i), scratch);
      });
      team.barrier();
      if (packs_later()) {
        for_each(next_inner, ws_.num_works, [&](int64_t i) { pack_inner(ws_.works[i]); });
        team.barrier();
      }
      down_tasks.run(team.thread, [&](int32_t node, int64_t i) {
        multiply_down(part_of(down, node, i), scratch);
      });
      team.barrier();
      const IndexRange share = team.share(tokens_);
      for (int64_t t = share.begin; t < share.end; ++t) {
        combine(t);
      }
    });
  }

 private:
  template <typename F>
  static void for_each(std::atomic<int64_t>& next, int64_t count, F&& f) {
    for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      f(i);
    }
  }

  // A task: the rows of a work times panels of its expert that lie together.
  struct Part {
    const MoeWork& work;
    IndexRange panels;  // of the expert
    int64_t offset;     // of the matrix' panels against these
  };

  // Into how many parts to cut a node's panels of an expert so that all threads find work.
  int64_t parts_of(IndexRange share) const {
    return std::clamp<int64_t>(ceil_div(8 * int64_t{context_.threads}, ws_.num_works), 1,
                               share.end - share.begin);
  }

  NodeTasks tasks_of(const ExpertPanels& panels) const {
    return {context_.placement, [&](int32_t node) {
              const IndexRange share = context_.placement.share(panels.panels, node);
              return share.begin == share.end ? 0 : ws_.num_works * parts_of(share);
            }};
  }

  Part part_of(const ExpertPanels& panels, int32_t node, int64_t task) const {
    const IndexRange share = context_.placement.share(panels.panels, node);
    const int64_t parts = parts_of(share);
    const MoeWork& work = ws_.works[task / parts];
    const IndexRange own = split_range(share.end - share.begin, parts, task % parts);
    return {.work = work,
            .panels = {share.begin + own.begin, share.begin + own.end},
            .offset = panels.offset(share, work.expert)};
  }

  static const MatrixKernels& for_work(const MatrixKernels& kernels, const MoeWork& work) {
    return kernels_for_rows(kernels, work.end - work.begin);
  }

  PackedRows rows_of(const MatrixKernels& kernels, const MoeWork& work, int64_t K,
                     std::byte* base) const {
    PackedRows rows =
        packed_layout(context_, for_work(kernels, work), work.end - work.begin, K, nullptr);
    rows.data = base + work.begin * rows.row_bytes;
    return rows;
  }

  void pack_rows(const MoeWork& work, float* scratch) const {
    const int64_t element = dtype_size(context_.compute_dtype);
    const int64_t H = weight_.H;
    const PackedRows rows = rows_of(gate_up_, work, H, ws_.x);
    auto* gathered = reinterpret_cast<std::byte*>(scratch);
    const auto* x = static_cast<const std::byte*>(args_.x);
    for (int64_t t = 0; t < rows.tiles; ++t) {
      const IndexRange range = rows.tile(t);
      for (int64_t r = range.begin; r < range.end; ++r) {
        const int64_t token = first_ + ws_.token_of[work.begin + r];
        std::memcpy(gathered + (r - range.begin) * H * element,
                    x + token * args_.x_stride * element, static_cast<size_t>(H * element));
      }
      for_work(gate_up_, work)
          .pack(gathered, H, range.end - range.begin, H, rows.data + range.begin * rows.row_bytes);
    }
  }

  // Where a panel of gate_up gives half of what the rows of down are packed in.
  bool packs_later() const { return down_.packed_k > kHalfPanel; }

  std::byte* inner_row(int64_t place) const {
    return reinterpret_cast<std::byte*>(ws_.inner) +
           place * weight_.I * dtype_size(context_.compute_dtype);
  }

  void pack_inner(const MoeWork& work) const {
    const PackedRows rows = rows_of(down_, work, weight_.I, ws_.act);
    for (int64_t t = 0; t < rows.tiles; ++t) {
      const IndexRange range = rows.tile(t);
      for_work(down_, work)
          .pack(inner_row(work.begin + range.begin), weight_.I, range.end - range.begin, weight_.I,
                rows.data + range.begin * rows.row_bytes);
    }
  }

  // Columns [column, column + columns) of silu(gate) * up for rows of a work: to where down reads
  // them.
  void store_inner(const float* c, const MoeWork& work, int64_t row, int64_t rows, int64_t column,
                   int64_t columns) const {
    if (packs_later()) {
      const TileStore inner = {*context_.kernels, context_.compute_dtype, ws_.inner, weight_.I};
      inner.store(c, work.begin + row, rows, column, columns);
      return;
    }
    // The part of the tile's packed rows that starts at this column.
    const PackedRows act = rows_of(down_, work, weight_.I, ws_.act);
    std::byte* to = act.data + row * act.row_bytes + rows * column * down_.packed_element_bytes;
    if (context_.compute_dtype == DType::kF32) {
      down_.pack(c, kPanelColumns, rows, columns, to);
      return;
    }
    uint16_t narrow[kMaxTileRows * kHalfPanel];
    context_.kernels->store_bf16(c, rows, columns, narrow, kHalfPanel);
    down_.pack(narrow, kHalfPanel, rows, columns, to);
  }

  MultiplyTask task_of(const MatrixKernels& kernels, const PackedRows& rows,
                       const PanelMatrix& matrix, const Part& part) const {
    return {.kernels = &kernels,
            .rows = &rows,
            .matrix = &matrix,
            .tiles = {0, rows.tiles},
            .panels = {part.offset + part.panels.begin, part.offset + part.panels.end}};
  }

  void multiply_gate_up(const Part& part, float* scratch) const {
    const CpuKernels& kernels = *context_.kernels;
    const PackedRows x = rows_of(gate_up_, part.work, weight_.H, ws_.x);
    multiply_task(task_of(for_work(gate_up_, part.work), x, weight_.gate_up, part), scratch,
                  [&](float* c, int64_t row, int64_t rows, int64_t panel) {
                    kernels.silu_mul(c, rows);
                    const int64_t column = (panel - part.offset) * kHalfPanel;
                    store_inner(c, part.work, row, rows, column,
                                std::min(kHalfPanel, weight_.I - column));
                  });
  }

  void multiply_down(const Part& part, float* scratch) const {
    const PackedRows act = rows_of(down_, part.work, weight_.I, ws_.act);
    multiply_task(task_of(for_work(down_, part.work), act, weight_.down, part), scratch,
                  [&](float* c, int64_t row, int64_t rows, int64_t panel) {
                    const int64_t column = (panel - part.offset) * kPanelColumns;
                    context_.kernels->store_f32(
                        c, rows, std::min(kPanelColumns, weight_.H - column),
                        ws_.out + (part.work.begin + row) * weight_.H + column, weight_.H);
                  });
  }

  void combine(int64_t token) const {
    const CpuKernels& kernels = *context_.kernels;
    const int64_t H = weight_.H;
    const int64_t row = first_ + token;
    float* sum = args_.out + row * H;
    std::fill(sum, sum + H, 0.0F);
    for (int64_t j = 0; j < args_.K; ++j) {
      const int64_t pair = token * args_.K + j;
      kernels.axpy(sum, ws_.out + ws_.place_of[pair] * H, H,
                   args_.weights[first_ * args_.K + pair]);
    }
    const float gate = 1.0F / (1.0F + std::exp(-args_.shared_gate[row * args_.shared_gate_stride]));
    kernels.axpy(sum, args_.shared + row * H, H, gate);
  }

  const CpuContext& context_;
  const MoeArgs& args_;
  const CpuExpertsWeight& weight_;
  const MatrixKernels& gate_up_;
  const MatrixKernels& down_;
  const int64_t first_;
  const int64_t tokens_;
  MoeWorkspace& ws_;
};

}  // namespace

void cpu_moe(CpuContext& context, const MoeArgs& args) {
  const auto& weight = static_cast<const CpuExpertsWeight&>(*args.experts);
  const int64_t block = std::min(std::max<int64_t>(args.T, context.limits.max_tokens), kTokenBlock);
  const int64_t row_floats = kMaxTileRows * weight.H;
  context.require_thread_scratch(static_cast<size_t>(row_floats) * sizeof(float));
  context.require_shared_scratch(
      static_cast<size_t>(MoeWorkspace(nullptr, block, args.K, weight).bytes));
  for (int64_t first = 0; first < args.T; first += kTokenBlock) {
    const int64_t tokens = std::min(kTokenBlock, args.T - first);
    MoeWorkspace workspace(context.shared_scratch<std::byte>(), tokens, args.K, weight);
    MoeBlock(context, args, first, tokens, workspace).run();
  }
}

}  // namespace deltaserve
