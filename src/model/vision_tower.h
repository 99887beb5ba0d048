// The vision tower: patches of pictures to embeddings of the text model's width. Encoding goes in
// parts of some rows of one layer, so that a large picture can be spread over many steps; a frame
// sees only itself. Finished embeddings stay in a pool of pages, from which a step copies the rows
// it needs.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/error.h"
#include "media/vision_item.h"
#include "model/config.h"
#include "model/device_buffer.h"
#include "model/vision_grid.h"
#include "model/weight_loader.h"
#include "ops/backend.h"

namespace deltaserve {

// Embeddings of a page of the pool. A page is what the merger makes at a time, and of the smallest
// picture's 64 tokens none is lost.
inline constexpr int64_t kVisionPageRows = 64;

// Patches of a part, and of small frames that go together, at most: enough that weights are read
// seldom, and a limit for the backend's scratch.
inline constexpr int64_t kVisionPartRows = 1024;

struct VisionBlock {
  VisionBlock(const VisionConfig& config, int32_t index, WeightLoader& loader);
  DeviceBuffer norm1_weight, norm1_bias;  // [hidden]
  DeviceBuffer norm2_weight, norm2_bias;  // [hidden]
  std::unique_ptr<LinearWeight> qkv, proj, fc1, fc2;
  DeviceBuffer qkv_bias, proj_bias, fc1_bias, fc2_bias;
};

// An item to encode; row r of its embeddings goes to pages[r / kVisionPageRows].
struct VisionJob {
  std::shared_ptr<const VisionItem> item;
  std::vector<int32_t> pages;
};

VisionShape vision_shape(const VisionConfig& config);

class VisionTower {
 public:
  // Errors are kept by the loader.
  VisionTower(const VisionConfig& config, Backend& backend, WeightLoader& loader);

  const VisionConfig& config() const { return config_; }
  VisionShape shape() const { return vision_shape(config_); }
  // Of limits.max_frame_patches and limits.vision_pages, beside the backend's own scratch.
  int64_t workspace_bytes(const StepLimits& limits) const;
  Result<void> allocate(const StepLimits& limits);
  int64_t num_pages() const { return num_pages_; }

  // Whether the items' patches are this tower's.
  Result<void> check(const VisionItem& item) const;

  // Begins to encode these items, and gives up what was begun before.
  void begin(std::vector<VisionJob> jobs);
  bool busy() const { return stage_ >= 0 || !waiting_.empty(); }
  // Computes parts until `flop` floating-point operations are spent, at least one part; returns
  // what was spent.
  double advance(double flop);

  // Embeddings [pages * kVisionPageRows, out_hidden_size] float32, in backend memory.
  const float* embeddings() const { return pool_.as<float>(); }

 private:
  struct Frame {
    const VisionJob* job = nullptr;
    int32_t index = 0;  // in its item
    int64_t first = 0;  // patch of the pass
    int64_t count = 0;  // patches
  };
  // Embeddings one after the other in a page.
  struct MergedRun {
    int64_t first = 0;  // of the pass
    int64_t count = 0;
    int64_t to = 0;  // row of the pool
  };

  int64_t patch_width() const;    // values of a patch as the tower reads it
  int64_t staging_bytes() const;  // of staging_
  double row_flop() const;
  void start_pass();
  void run_part(int64_t begin, int64_t end);
  void embed(int64_t begin, int64_t end);
  void project(const VisionBlock& block, int64_t begin, int64_t end);
  void finish_block(const VisionBlock& block, int64_t begin, int64_t end);
  void attend(int64_t begin, int64_t end);
  void merge(int64_t index);
  // residual += delta, which may be null, and the norm that stands before stage `block`.
  void norm(int64_t block, int64_t begin, int64_t end, const float* delta);
  void layer_norm(const DeviceBuffer& weight, const DeviceBuffer& bias, int64_t begin, int64_t end,
                  const float* delta);
  void linear(const LinearWeight& weight, const DeviceBuffer& bias, Activation activation,
              int64_t rows, const void* x, void* out, bool out_float);
  void* at(const DeviceBuffer& buffer, int64_t element) const;

  VisionConfig config_;
  Backend& backend_;
  std::unique_ptr<LinearWeight> patch_embed_, merger_fc1_, merger_fc2_;
  DeviceBuffer patch_embed_bias_, merger_fc1_bias_, merger_fc2_bias_;
  DeviceBuffer merger_norm_weight_, merger_norm_bias_;
  DeviceBuffer positions_;  // [num_position_embeddings, hidden]
  DeviceBuffer inv_freq_;   // [head_dim / 4]
  std::vector<VisionBlock> blocks_;

  int64_t max_frame_patches_ = 0;
  int64_t num_pages_ = 0;
  DeviceBuffer residual_;     // [P, hidden] float32; P patches of a pass, C of a part
  DeviceBuffer normed_;       // [P, hidden] X
  DeviceBuffer qkv_;          // [P, 3 hidden] X
  DeviceBuffer pixels_;       // [C, patch_width] X
  DeviceBuffer attended_;     // [C, hidden] X
  DeviceBuffer inner_;        // [C, intermediate] X; [kVisionPageRows, 4 hidden] X in the merger
  DeviceBuffer delta_;        // [C, hidden] float32
  DeviceBuffer coordinates_;  // [2, P] int32: rows, then columns
  DeviceBuffer taps_;         // [4, C] int32
  DeviceBuffer tap_weights_;  // [4, C] float32
  DeviceBuffer segments_;     // cu_queries, then cu_keys
  DeviceBuffer pool_;

  std::vector<VisionJob> jobs_;
  std::deque<Frame> waiting_;       // of the jobs, not begun
  std::vector<Frame> pass_;         // frames that go through the layers together
  std::vector<VisionGrid> grids_;   // of the pass
  std::vector<MergedRun> merged_;   // of the pass
  int64_t num_patches_ = 0;         // of the pass
  int64_t stage_ = -1;              // -1: no pass; 0: embed; then two a block; then the merger
  int64_t next_ = 0;                // row of the stage, or merged run
  std::vector<std::byte> staging_;  // [C, patch_width] X, on the host
};

}  // namespace deltaserve
