// Shared command-line options and their translation to library options.
#include "app/cli_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "app/flag_values.h"

namespace deltaserve {
namespace {

void add_prefix_cache_options(CLI::App& command, EngineOptions& options) {
  command.add_flag("--enable-prefix-caching,!--no-enable-prefix-caching",
                   options.enable_prefix_caching,
                   "Keep prompts and answers for requests that begin with them (on)");
  command.add_flag("--prefix-cache-answers,!--no-prefix-cache-answers",
                   options.prefix_cache_answers,
                   "Take answers from the cache as they were computed, token by token (on)");
  command
      .add_option("--prefix-cache-memory", options.prefix_cache_memory_bytes,
                  "Bytes for state snapshots; by default up to a quarter of the free memory")
      ->transform(byte_size(0));
  command
      .add_option_function<double>(
          "--swap-space",
          [&options](double gib) {
            options.swap_space_bytes = static_cast<int64_t>(gib * (int64_t{1} << 30));
          },
          "GiB of host memory for what the prefix cache has no room for")
      ->check(number_in(0.0, 1e6));
  command.add_option("--prefix-cache-dir", options.prefix_cache_dir,
                     "Directory that keeps prefixes of requests with a prompt_cache_key over a "
                     "restart");
  command
      .add_option("--prefix-cache-dir-bytes", options.prefix_cache_dir_bytes,
                  "Bytes of all files there")
      ->transform(byte_size(0))
      ->capture_default_str();
  command
      .add_option("--prefix-cache-interval", options.prefix_cache_interval,
                  "Tokens between snapshots of long prompts, 0 for none; by default by memory")
      ->check(whole_number(0));
  command
      .add_option("--long-prefill-token-threshold", options.long_prefill_token_threshold,
                  "Prompt tokens of a step beside decodes, 0 for the rest of the budget")
      ->check(whole_number(0))
      ->capture_default_str();
  command
      .add_option("--inter-token-target", options.inter_token_target_seconds,
                  "Seconds between two tokens of a stream that prompts must leave, 0 for no limit")
      ->check(number_in(0.0, 3600.0))
      ->capture_default_str();
  command.add_flag("--fair-share", options.fair_share, "API keys take turns");
}

Result<DType> parse_compute_dtype(const std::string& name) {
  if (name == "float32") return DType::kF32;
  if (name == "auto" || name == "bfloat16") return DType::kBF16;
  return invalid("--dtype must be auto, float32 or bfloat16, not " + name, "dtype");
}

}  // namespace

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_option("model,--model", options.directory, "Checkpoint directory")
      ->required()
      ->type_name("MODEL");
  command.add_option("--dtype", options.dtype, "Compute dtype")
      ->check(CLI::IsMember({"auto", "float32", "bfloat16"}))
      ->capture_default_str();
  command
      .add_option("--quantization", options.quantization,
                  "Quantise the layers' matrices at load: int8 or int4")
      ->check(CLI::IsMember({"int8", "int4"}));
  command.add_option("--backend", options.backend, "auto, cpu, cuda or reference")
      ->capture_default_str();
  command.add_option("--threads", options.threads, "Compute threads, 0 for every usable core")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command
      .add_option("--numa", options.numa,
                  "auto binds compute threads to cores and puts weights beside them where the CPU "
                  "backend finds several memory nodes; off leaves both to the system")
      ->check(CLI::IsMember({"auto", "off"}))
      ->capture_default_str();
  command.add_option("--cpu-isa", options.cpu_isa,
                     "Force an instruction set: portable, avx2, avx512, avx512_bf16, amx");
  command.add_flag("--batch-invariant", options.batch_invariant,
                   "The same bits for a request whatever runs beside it, on CUDA too at some cost; "
                   "on the CPU it is always so");
  command
      .add_option("--gdn-precision", options.gdn_precision,
                  "Operands of Gated DeltaNet's prompt products on CUDA: bf16, or fp16 with exact "
                  "scales, at some cost")
      ->check(CLI::IsMember({"bf16", "fp16"}))
      ->capture_default_str();
}

void add_engine_options(CLI::App& command, EngineOptions& options) {
  command
      .add_option("--max-model-len", options.max_model_len,
                  "Longest prompt plus output, 0 for what the model and the memory allow")
      ->check(whole_number(0))
      ->capture_default_str();
  // A step's sequences can be the third dimension of a grid, which holds no more.
  command.add_option("--max-num-seqs", options.max_num_seqs, "Sequences that run at once")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  command
      .add_option("--max-num-batched-tokens", options.max_num_batched_tokens,
                  "Token budget of one step")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command
      .add_option("--max-queue-len", options.max_queue_len,
                  "Waiting requests; more are answered with 429")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command
      .add_option("--kv-cache-memory-bytes,--kv-cache-memory", options.kv_cache_memory_bytes,
                  "Bytes for KV blocks, 0 to derive them from the free memory")
      ->transform(byte_size(0));
  command
      .add_option("--memory-utilization,--gpu-memory-utilization", options.memory_utilization,
                  "Share of the free memory that may be used")
      ->check(number_in(0.01, 1.0))
      ->capture_default_str();
  command
      .add_option("--encoder-cache-tokens", options.encoder_cache_tokens,
                  "Tokens of pictures whose embeddings are held, at least those of the largest "
                  "prompt with pictures (default: 32768, or the longest context)")
      ->check(whole_number(0));
  command.add_flag("--async-scheduling,!--no-async-scheduling", options.async_scheduling,
                   "Launch decode steps while the one before runs, where the device can (on)");
  add_prefix_cache_options(command, options);
}

Result<BackendOptions> backend_options(const ModelOptions& options) {
  const Result<DType> dtype = parse_compute_dtype(options.dtype);
  if (!dtype) return std::unexpected(dtype.error());
  return BackendOptions{.name = options.backend,
                        .compute_dtype = *dtype,
                        .threads = options.threads,
                        .cpu_isa = options.cpu_isa,
                        .numa = options.numa == "auto",
                        .batch_invariant = options.batch_invariant,
                        .gdn_fp16 = options.gdn_precision == "fp16"};
}

// Not fmt::print, which throws where stderr is closed.
int report_failure(const Error& error) {
  std::string line = fmt::format("error: {}", error.message);
  std::ranges::replace(line, '\n', ' ');
  line += '\n';
  std::fputs(line.c_str(), stderr);
  return 1;
}

std::string format_bytes(int64_t bytes) {
  constexpr int64_t kKiB = 1024;
  if (bytes >= kKiB * kKiB * kKiB) {
    return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0));
  }
  if (bytes >= kKiB * kKiB) {
    return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
  }
  return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024.0);
}

}  // namespace deltaserve
