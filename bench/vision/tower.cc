// The vision tower of a released shape with random weights: time of one picture of each size, its
// memory, and the floor, which is its floating-point operations at the machine's measured rate.
// Usage: bench_vision_tower [PRESET] [--blocks N] [--sides 16x16,68x120] [--dtype D] [--threads N]
// Sizes are patches (16 pixels). With --blocks only so many blocks are run, and the time of all is
// reckoned from two runs, with and without them: a picture of 4096 x 4096 takes long.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "../cpu/bench_util.h"
#include "model/embedding_copies.h"
#include "model/presets.h"
#include "model/random_in_memory.h"
#include "model/vision_tower.h"
#include "model/weight_loader.h"

namespace deltaserve {
namespace {

struct Size {
  int32_t height = 0;  // patches
  int32_t width = 0;
  int64_t patches() const { return int64_t{height} * width; }
};

struct Options {
  std::string preset = "qwen3.6-27b";
  int32_t blocks = 0;  // 0: all
  std::vector<Size> sizes = {{16, 16}, {68, 120}};
};

Options read_options(int argc, char** argv) {
  Options options;
  if (argc > 1 && argv[1][0] != '-') options.preset = argv[1];
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--blocks") == 0) options.blocks = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--sides") != 0) continue;
    options.sizes.clear();
    for (const char* text = argv[i + 1]; text != nullptr; text = std::strchr(text, ',')) {
      text += *text == ',' ? 1 : 0;
      Size size;
      if (std::sscanf(text, "%" SCNd32 "x%" SCNd32, &size.height, &size.width) == 2) {
        options.sizes.push_back(size);
      }
    }
  }
  return options;
}

// The preset without what only the text model would need much memory for.
json::Object small_config(const std::string& preset) {
  constexpr int32_t kVocab = 1024;
  json::Object config = preset_config(preset, {.num_layers = 4, .with_vision = true}).value();
  config["text_config"].as_object()["vocab_size"] = kVocab;
  for (const char* id :
       {"image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id"}) {
    config.erase(id);
  }
  config["text_config"].as_object().erase("eos_token_id");
  return config;
}

class TowerBench {
 public:
  TowerBench(const Bench& bench, const Options& options)
      : backend_(make_cpu_backend(bench.options).value()),
        checkpoint_(make_random_checkpoint(small_config(options.preset), 0, bench.options.threads)
                        .value()) {
    for (const Size& size : options.sizes) {
      limits_.max_frame_patches = std::max(limits_.max_frame_patches, size.patches());
      limits_.vision_pages = std::max(limits_.vision_pages, vision_pages_for(size.patches() / 4));
    }
  }

  VisionConfig config() const { return *parse_model_config(checkpoint_->config()).value().vision; }

  // Seconds of one picture through `blocks` blocks, and the operations spent.
  std::pair<double, double> run(int32_t blocks, const Size& size) {
    VisionConfig shape = config();
    shape.depth = blocks;
    const ProgressCallback no_progress;
    WeightLoader loader(*checkpoint_, *backend_, no_progress);
    VisionTower tower(shape, *backend_, loader);
    if (loader.failed() || !tower.allocate(limits_)) std::abort();
    weight_bytes_ = loader.weight_bytes();
    workspace_bytes_ = tower.workspace_bytes(limits_);
    auto item = std::make_shared<VisionItem>();
    item->grid_h = size.height;
    item->grid_w = size.width;
    item->patches.resize(static_cast<size_t>(size.patches() * 1536));
    for (size_t i = 0; i < item->patches.size(); ++i) {
      item->patches[i] = static_cast<float>(i * 2654435761U % 255) / 127.5F - 1.0F;
    }
    std::vector<int32_t> pages;
    for (int64_t i = 0; i < vision_pages_for(item->num_tokens()); ++i) {
      pages.push_back(static_cast<int32_t>(i));
    }
    double flop = 0.0;
    const auto encode = [&] {
      tower.begin({{.item = item, .pages = pages}});
      flop = 0.0;
      while (tower.busy()) flop += tower.advance(std::numeric_limits<double>::max());
    };
    constexpr int64_t kManyPatches = 1024;  // below it the first run would show page faults
    if (size.patches() <= kManyPatches) return {best_seconds(encode), flop};
    const auto start = std::chrono::steady_clock::now();
    encode();
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), flop};
  }

  int64_t weight_bytes() const { return weight_bytes_; }
  int64_t workspace_bytes() const { return workspace_bytes_; }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Checkpoint> checkpoint_;
  StepLimits limits_;
  int64_t weight_bytes_ = 0;
  int64_t workspace_bytes_ = 0;
};

int run(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const int first = argc > 1 && argv[1][0] != '-' ? 1 : 0;
  const Bench bench = start_bench(argc - first, argv + first);
  TowerBench tower(bench, options);
  const int32_t depth = tower.config().depth;
  const int32_t blocks = options.blocks > 0 ? std::min(options.blocks, depth) : depth;
  std::printf("%12s %8s %12s %12s %12s %8s\n", "patches", "tokens", "ms", "floor ms", "GFLOP",
              "of peak");
  for (const Size& size : options.sizes) {
    auto [seconds, flop] = tower.run(blocks, size);
    if (blocks < depth) {
      const auto [rest_seconds, rest_flop] = tower.run(0, size);
      const double times = static_cast<double>(depth) / blocks;
      seconds = rest_seconds + (seconds - rest_seconds) * times;
      flop = rest_flop + (flop - rest_flop) * times;
    }
    const double floor = flop / (bench.peak_gflop() * 1e9);
    std::printf("%5" PRId32 " x %4" PRId32 " %8" PRId64 " %12.1f %12.1f %12.0f %7.0f%%\n",
                size.height, size.width, size.patches() / 4, seconds * 1e3, floor * 1e3, flop / 1e9,
                100.0 * floor / seconds);
  }
  std::printf("%d of %d blocks run; weights of these %.0f MiB, workspace and embeddings %.0f MiB\n",
              blocks, depth, static_cast<double>(tower.weight_bytes()) / (1 << 20),
              static_cast<double>(tower.workspace_bytes()) / (1 << 20));
  return 0;
}

}  // namespace
}  // namespace deltaserve

int main(int argc, char** argv) {
  return deltaserve::run(argc, argv);
}
