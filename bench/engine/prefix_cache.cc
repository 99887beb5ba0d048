// What the prefix cache costs and how long a stream waits beside a long prompt, over a real model:
//   bench_prefix_cache MODEL [THREADS [cost | copy | lookup | long]]
// cost: eight requests that share nothing, cache off and on in turns: the cost where nothing is
//   reusable
// copy: one sequence's state, beside a memcpy of the same size
// lookup: of a 100,000-token prompt, hashing included
// long: time between tokens of four streams while a 100,000-token prompt is read, with and without
//   a target for it
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
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
// Pairs of runs that the cost is taken from: as many as fit into a minute, within these.
constexpr uint64_t kFewestPairs = 7;
constexpr uint64_t kMostPairs = 51;
constexpr double kCostSeconds = 60.0;
constexpr int32_t kBlocks = static_cast<int32_t>(2 * kContext / kBlockSize);

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Of all threads.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Cost {
  double clock = 0.0;  // seconds
  double processor = 0.0;
};

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

  // Both runs of a pair compute the same tokens, and which goes first alternates. A pair's ratio
  // leaves out what slows the machine for longer than a pair; processor time, what slows it
  // shorter.
  void nothing_reusable() {
    run_requests(false, 1);  // memory is touched for the first time
    run_requests(true, 1);
    std::vector<double> clock;
    std::vector<double> processor;
    std::vector<double> off_seconds;
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t pair = 0; pair < kMostPairs; ++pair) {
      const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - begin;
      if (pair >= kFewestPairs && so_far.count() > kCostSeconds) break;
      const bool first = pair % 2 == 0;
      const Cost a = run_requests(first, 1 + 100 * pair);
      const Cost b = run_requests(!first, 1 + 100 * pair);
      const Cost& on = first ? a : b;
      const Cost& off = first ? b : a;
      clock.push_back(100.0 * (on.clock / off.clock - 1.0));
      processor.push_back(100.0 * (on.processor / off.processor - 1.0));
      off_seconds.push_back(off.clock);
    }
    fmt::print(
        "nothing reusable, {} pairs of runs, {:.3f} s off: the cache costs {:+.2f} % of "
        "processor time ({:+.2f} to {:+.2f}), {:+.2f} % by the clock ({:+.2f} to {:+.2f}); "
        "medians and quartiles\n",
        clock.size(), quantile(off_seconds, 0.5), quantile(processor, 0.5),
        quantile(processor, 0.25), quantile(processor, 0.75), quantile(clock, 0.5),
        quantile(clock, 0.25), quantile(clock, 0.75));
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

  Cost run_requests(bool cached, uint64_t seed) {
    EngineCore core(core_options(cached), *runner_);
    for (RequestId id = 1; id <= kSeqs; ++id) {
      core.add(id, random_request(500, 64, model_->config().vocab_size, seed + id));
    }
    const double processor = processor_seconds();
    const double clock = seconds_of([&] {
      while (core.has_work()) {
        core.step();
        core.take_outputs();
      }
    });
    return {.clock = clock, .processor = processor_seconds() - processor};
  }

  Model* model_;
  ModelRunner* runner_;
};

Result<void> run(const char* directory, int32_t threads, std::string_view part) {
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
  const auto wants = [part](std::string_view name) { return part.empty() || part == name; };
  if (wants("cost")) bench.nothing_reusable();
  if (wants("copy")) bench.copy_time();
  if (wants("lookup")) bench.lookup_time();
  if (wants("long")) {
    bench.long_prefill(0.0);
    bench.long_prefill(0.05);
  }
  return {};
}

}  // namespace
}  // namespace deltaserve

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each figure as soon as it is there
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_prefix_cache MODEL [THREADS [cost | copy | lookup | long]]\n");
    return 2;
  }
  const int32_t threads = argc > 2 ? std::atoi(argv[2]) : 0;
  const std::string_view part = argc > 3 ? argv[3] : "";
  if (const auto done = deltaserve::run(argv[1], threads, part); !done) {
    fmt::print(stderr, "error: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
