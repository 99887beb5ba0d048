// Plans the pools, fills them with every thread, and hands out windows.
#include "model/random_in_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "model/config.h"
#include "model/random_tensor.h"

namespace deltaserve {

namespace {

// Windows of one pool begin at different places, up to this many elements apart.
constexpr int64_t kSlack = kRandomPiece;
constexpr int64_t kWindowAlignment = 64;  // elements: a cache line in the narrowest dtype

// Memory of a nameless file: pages that a loader drops after use come back with their content.
class PoolMemory {
 public:
  PoolMemory() = default;
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;
  ~PoolMemory() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }

  Result<void> allocate(size_t bytes) {
    const int file = ::memfd_create("random-weights", MFD_CLOEXEC);
    if (file < 0) return failure(bytes);
    const bool sized = ::ftruncate(file, static_cast<off_t>(bytes)) == 0;
    void* data =
        sized ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    ::close(file);
    if (data == MAP_FAILED) return failure(bytes);
    data_ = data;
    bytes_ = bytes;
    return {};
  }

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  static std::unexpected<Error> failure(size_t bytes) {
    return fail(ErrorCode::kUnavailable, fmt::format("no {} bytes of memory for random weights: {}",
                                                     bytes, std::strerror(errno)));
  }

  void* data_ = nullptr;
  size_t bytes_ = 0;
};

using Distribution = std::tuple<DType, RandomKind, float, float>;

Distribution distribution_of(const RandomTensor& tensor) {
  return {tensor.dtype, tensor.kind, tensor.mean, tensor.deviation};
}

struct Pool {
  RandomTensor numbers;  // as one tensor
  int64_t offset = 0;    // bytes into the memory
};

int64_t pool_bytes(const Pool& pool) {
  return pool.numbers.num_elements() * dtype_size(pool.numbers.dtype);
}

// A pool a distribution, as large as its largest tensor and the slack.
std::map<Distribution, Pool> plan_pools(const std::vector<RandomTensor>& tensors) {
  std::map<Distribution, Pool> pools;
  for (const RandomTensor& tensor : tensors) {
    Pool& pool = pools[distribution_of(tensor)];
    const int64_t count = tensor.num_elements() + kSlack;
    if (pool.numbers.shape.empty() || pool.numbers.shape[0] < count) {
      pool.numbers = tensor;
      pool.numbers.shape = {count};
    }
  }
  int64_t offset = 0;
  for (auto& [distribution, pool] : pools) {
    pool.offset = offset;
    offset += (pool_bytes(pool) + kRandomPiece - 1) / kRandomPiece * kRandomPiece;
  }
  return pools;
}

void fill_pools(const std::map<Distribution, Pool>& pools, std::byte* memory, uint64_t seed,
                int32_t threads) {
  struct Part {
    const Pool* pool;
    int64_t index;
  };
  std::vector<Part> pieces;
  for (const auto& [distribution, pool] : pools) {
    for (int64_t i = 0; i * kRandomPiece < pool.numbers.num_elements(); ++i) {
      pieces.push_back({&pool, i});
    }
  }
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> workers;
  workers.reserve(static_cast<size_t>(threads));
  for (int32_t i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (size_t at = next.fetch_add(1); at < pieces.size(); at = next.fetch_add(1)) {
        const auto& [pool, index] = pieces[at];
        const int64_t size = dtype_size(pool->numbers.dtype);
        const int64_t first = index * kRandomPiece;
        const int64_t count = std::min(kRandomPiece, pool->numbers.num_elements() - first);
        fill_random(
            pool->numbers, seed, index,
            std::span(memory + pool->offset + first * size, static_cast<size_t>(count * size)));
      }
    });
  }
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> make_random_checkpoint(const json::Object& config,
                                                           uint64_t seed, int32_t threads) {
  const Result<ModelConfig> parsed = parse_model_config(config);
  if (!parsed) {
    return std::unexpected(parsed.error());
  }
  const std::vector<RandomTensor> tensors = random_tensors(*parsed);
  const std::map<Distribution, Pool> pools = plan_pools(tensors);
  int64_t bytes = 0;
  for (const auto& [distribution, pool] : pools) {
    bytes = std::max(bytes, pool.offset + pool_bytes(pool));
  }
  auto memory = std::make_shared<PoolMemory>();
  if (Result<void> allocated = memory->allocate(static_cast<size_t>(bytes)); !allocated) {
    return std::unexpected(allocated.error());
  }
  const auto cores = static_cast<int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  fill_pools(pools, memory->data(), seed, threads > 0 ? threads : cores);

  std::map<std::string, TensorView, std::less<>> views;
  int64_t number = 0;
  for (const RandomTensor& tensor : tensors) {
    const Pool& pool = pools.at(distribution_of(tensor));
    constexpr int64_t kStride = 977;  // a prime: windows are spread before they repeat
    const int64_t start = number++ * kStride * kWindowAlignment % kSlack;
    views[tensor.name] = {.dtype = tensor.dtype,
                          .shape = tensor.shape,
                          .data = memory->data() + pool.offset + start * dtype_size(tensor.dtype)};
  }
  return Checkpoint::in_memory(config, std::move(views), std::move(memory));
}

}  // namespace deltaserve
