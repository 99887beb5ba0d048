// What the prefix cache costs and how long a stream waits beside a long prompt, over a real model:
//   bench_prefix_cache MODEL [THREADS]
// 1. eight requests that share nothing, cache off and on in turns: the cost where nothing is
// reusable
// 2. the copy of one sequence's state, beside a memcpy of the same size
// 3. the lookup of a 100,000-token prompt, hashing included
// 4. time between tokens of four streams while a 100,000-token prompt is read, with and without a
//    target for it
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "engine/engine_core.h"
#include "engine/step_limits.h"
#include "model/model.h"

namespace deltaserve {
namespace {

constexpr int64_t kLongPrompt = 100'000;
constexpr int64_t kContext = kLongPrompt + 4096;
constexpr int32_t kSeqs = 8;
constexpr int32_t kSnapshots = 64;
constexpr int32_t kBlocks = static_cast<int32_t>(2 * kContext / kBlockSize);

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

Request random_request(int64_t prompt_len, int64_t max_tokens, int32_t vocab_size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int32_t> token(0, vocab_size - 1);
  Request request;
  for (int64_t i = 0; i < prompt_len; ++i) request.prompt_token_ids.push_back(token(random));
  request.sampling.max_tokens = max_tokens;
  request.sampling.seed = seed;
  request.sampling.ignore_eos = true;
  return request;
}

class Bench {
 public:
  Bench(Model& model, ModelRunner& runner) : model_(&model), runner_(&runner) {}

  void nothing_reusable() {
    std::vector<double> off;
    std::vector<double> on;
    run_requests(false);  // memory is touched for the first time
    for (int round = 0; round < 9; ++round) {
      off.push_back(run_requests(false));
      on.push_back(run_requests(true));
    }
    fmt::print(
        "nothing reusable: off {:.3f} s, on {:.3f} s: {:+.1f} % (median of 9; best {:+.1f} %)\n",
        quantile(off, 0.5), quantile(on, 0.5),
        100.0 * (quantile(on, 0.5) / quantile(off, 0.5) - 1.0),
        100.0 * (quantile(on, 0.0) / quantile(off, 0.0) - 1.0));
  }

  void copy_time() {
    const auto bytes = static_cast<size_t>(model_->memory().state_slot_bytes);
    std::vector<std::byte> from(bytes, std::byte{1});
    std::vector<std::byte> to(bytes, std::byte{2});
    std::vector<double> copies;
    std::vector<double> ceiling;
    for (int32_t i = 0; i < 41; ++i) {
      copies.push_back(seconds_of([&] { model_->copy_state(i % kSeqs, kSeqs + i % kSnapshots); }));
      ceiling.push_back(seconds_of([&] { std::memcpy(to.data(), from.data(), bytes); }));
    }
    const double mib = static_cast<double>(bytes) / (1 << 20);
    fmt::print("snapshot copy: {:.2f} MiB in {:.3f} ms, a memcpy of one thread {:.3f} ms\n", mib,
               1e3 * quantile(copies, 0.5), 1e3 * quantile(ceiling, 0.5));
  }

  void lookup_time() {
    BlockPool blocks(kBlocks);
    StatePool snapshots(2, 0);
    StatePool slots(1, 2);  // outlives the sequences that own its slots
    PrefixCache cache({.enabled = true, .hash_seed = 1}, blocks, snapshots);
    RequestState known;
    known.request = random_request(kLongPrompt, 1, model_->config().vocab_size, 5);
    Sequence first(known, 0, 0, blocks, 10);
    cache.adopt(first);
    first.admit(slots.acquire().value());
    std::ignore = first.table().reserve_tokens(kLongPrompt);
    first.mark_computed(kLongPrompt);
    std::vector<PlannedSnapshot> taken;
    const int64_t border = (kLongPrompt - 1) / kChunkSize * kChunkSize;
    taken.push_back({.position = border, .slot = cache.index()->reserve_snapshot().value()});
    const double commit = seconds_of([&] { cache.commit(first, taken); });
    Sequence second(known, 0, 1, blocks, 10);
    const double cold = seconds_of([&] { cache.adopt(second); });
    const int64_t found = second.num_computed();
    cache.let_go(second);
    const double again = seconds_of([&] { cache.adopt(second); });
    cache.let_go(second);
    fmt::print("{} tokens: commit {:.2f} ms, lookup {:.2f} ms ({} found), again {:.2f} ms\n",
               kLongPrompt, 1e3 * commit, 1e3 * cold, found, 1e3 * again);
  }

  void long_prefill(double target_seconds) {
    CoreOptions options = core_options(true);
    options.inter_token_target_seconds = target_seconds;
    EngineCore core(options, *runner_);
    const int32_t vocab_size = model_->config().vocab_size;
    for (RequestId id = 1; id <= 4; ++id) {
      core.add(id, random_request(200, 4000, vocab_size, 100 + id));
    }
    std::vector<double> alone;
    for (int i = 0; i < 50; ++i) alone.push_back(seconds_of([&] { core.step(); }));
    core.take_outputs();
    core.add(9, random_request(kLongPrompt, 1, vocab_size, 77));
    std::vector<double> beside;
    double total = 0.0;
    for (bool finished = false; !finished;) {
      beside.push_back(seconds_of([&] { core.step(); }));
      total += beside.back();
      int32_t streams = 0;
      for (const RequestOutput& output : core.take_outputs()) {
        finished = finished || output.id == 9;
        streams += output.id == 9 ? 0 : 1;
      }
      if (streams != 4) fmt::print("a stream missed a step\n");
    }
    const std::string name =
        target_seconds > 0 ? fmt::format("target {:.0f} ms", 1e3 * target_seconds) : "no target";
    fmt::print(
        "beside a prompt of {} tokens, {}: between tokens p50 {:.1f}, p99 {:.1f}, max {:.1f} ms "
        "(alone {:.1f} ms); the prompt took {:.1f} s\n",
        kLongPrompt, name, 1e3 * quantile(beside, 0.5), 1e3 * quantile(beside, 0.99),
        1e3 * quantile(beside, 1.0), 1e3 * quantile(alone, 0.5), total);
  }

 private:
  CoreOptions core_options(bool cached) const {
    CoreOptions options;
    options.num_blocks = kBlocks;
    options.num_state_slots = kSeqs;
    options.num_snapshots = kSnapshots;
    options.vocab_size = model_->config().vocab_size;
    options.scheduler = {.max_num_seqs = kSeqs, .max_num_batched_tokens = 2048};
    options.prefix_cache = {.enabled = cached, .snapshot_interval = 64, .hash_seed = 1};
    return options;
  }

  double run_requests(bool cached) {
    EngineCore core(core_options(cached), *runner_);
    for (RequestId id = 1; id <= kSeqs; ++id) {
      core.add(id, random_request(500, 64, model_->config().vocab_size, next_seed_++));
    }
    return seconds_of([&] {
      while (core.has_work()) {
        core.step();
        core.take_outputs();
      }
    });
  }

  Model* model_;
  ModelRunner* runner_;
  uint64_t next_seed_ = 1;
};

Result<void> run(const char* directory, int32_t threads) {
  const Result<std::unique_ptr<Checkpoint>> checkpoint = Checkpoint::open(directory);
  if (!checkpoint) return std::unexpected(checkpoint.error());
  CpuOptions cpu;
  cpu.compute_dtype = DType::kBF16;
  cpu.threads = threads;
  const Result<std::unique_ptr<Backend>> backend = make_cpu_backend(cpu);
  if (!backend) return std::unexpected(backend.error());
  const Result<std::unique_ptr<Model>> model = load_model(**checkpoint, **backend);
  if (!model) return std::unexpected(model.error());
  EngineOptions options;
  options.max_num_seqs = kSeqs;
  const StepLimits limits = step_limits(options, kContext);
  if (Result<void> done = (*model)->allocate(limits, kBlocks, kSeqs + kSnapshots); !done) {
    return done;
  }
  const auto runner = make_model_runner(**model, (*model)->config().vocab_size);
  Bench bench(**model, *runner);
  bench.nothing_reusable();
  bench.copy_time();
  bench.lookup_time();
  bench.long_prefill(0.0);
  bench.long_prefill(0.05);
  return {};
}

}  // namespace
}  // namespace deltaserve

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each figure as soon as it is there
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_prefix_cache MODEL [THREADS]\n");
    return 2;
  }
  const int32_t threads = argc > 2 ? std::atoi(argv[2]) : 0;
  if (const auto done = deltaserve::run(argv[1], threads); !done) {
    fmt::print(stderr, "error: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
