// The vision tower of a released shape with random weights: time of one picture of each size, its
// memory, and the floor, which is its floating-point operations at the machine's measured rate.
// Usage: bench_vision_tower [--preset NAME] [--blocks N] [--sides 16x16,68x120] [--backend NAME]
//                           [--dtype float32|bfloat16] [--isa NAME] [--threads N]
// Sizes are patches (16 pixels). With --blocks only so many blocks are run, and the time of all is
// reckoned from two runs, with and without them: a picture of 4096 x 4096 takes long on a CPU.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "app/wiring.h"
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
  BackendOptions backend;
};

[[noreturn]] void stop(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(2);
}

std::vector<Size> read_sizes(const char* text) {
  std::vector<Size> sizes;
  for (; text != nullptr; text = std::strchr(text, ',')) {
    text += *text == ',' ? 1 : 0;
    Size size;
    if (std::sscanf(text, "%" SCNd32 "x%" SCNd32, &size.height, &size.width) != 2) {
      stop("--sides takes pairs like 16x16,68x120");
    }
    sizes.push_back(size);
  }
  return sizes;
}

Options read_options(int argc, char** argv) {
  Options options;
  options.backend.name = "cpu";
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) stop("an option without its value");
    const char* value = argv[i + 1];
    if (name == "--preset") {
      options.preset = value;
    } else if (name == "--blocks") {
      options.blocks = std::atoi(value);
    } else if (name == "--sides") {
      options.sizes = read_sizes(value);
    } else if (name == "--backend") {
      options.backend.name = value;
    } else if (name == "--isa") {
      options.backend.cpu_isa = value;
    } else if (name == "--threads") {
      options.backend.threads = std::atoi(value);
    } else if (name == "--dtype") {
      options.backend.compute_dtype =
          std::string_view(value) == "float32" ? DType::kF32 : DType::kBF16;
    } else {
      stop("unknown option " + std::string(name));
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

// The best of three runs; of one, where a run takes longer than a minute.
template <typename F>
double best_seconds(F&& work) {
  constexpr int kRuns = 3;
  constexpr double kLong = 60.0;
  double best = std::numeric_limits<double>::max();
  for (int run = 0; run < kRuns && (run == 0 || best < kLong); ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

class TowerBench {
 public:
  explicit TowerBench(const Options& options)
      : backend_(make_backend(options.backend).value()),
        checkpoint_(make_random_checkpoint(small_config(options.preset), 0, options.backend.threads)
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
    item->offset.fill(127.5F);
    item->scale.fill(127.5F);
    item->patches.resize(static_cast<size_t>(size.patches() * 768));
    for (size_t i = 0; i < item->patches.size(); ++i) {
      item->patches[i] = static_cast<uint8_t>(i * 2654435761U % 255);
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
      float first = 0.0F;  // a device works on until a result is asked for
      backend_->copy_to_host(&first, tower.embeddings(), sizeof(first));
    };
    return {best_seconds(encode), flop};
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
  const auto ceilings = measure_ceilings(options.backend);
  if (!ceilings) stop(ceilings.error().message);
  std::printf("matrices %.0f GFLOP/s\n", ceilings->matrix_gflop_per_s);
  TowerBench tower(options);
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
    const double floor = flop / (ceilings->matrix_gflop_per_s * 1e9);
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
