// Speed of the tokenizer on one core: load time, and MB/s of encode and decode for each text.
//   python bench/text/make_tokenizer.py /tmp/tokenizer_bench
//   bench_tokenizer /tmp/tokenizer_bench /tmp/tokenizer_bench/english.txt ...
// Works as well on a checkpoint directory and any UTF-8 text. MB are 10^6 bytes; the best of
// several passes counts, beside the median.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace deltaserve {
namespace {

constexpr int kPasses = 7;  // odd, for the median; about 5 seconds for 10 MB

// CPU time of this process, so that other work on the machine counts less.
double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Speed {
  double best = 0;  // MB/s
  double median = 0;
};

template <typename Work>
Speed measure(size_t bytes, const Work& work) {
  std::vector<double> speeds;
  for (int pass = 0; pass < kPasses; ++pass) {
    const double start = cpu_seconds();
    work();
    speeds.push_back(static_cast<double>(bytes) / 1e6 / (cpu_seconds() - start));
  }
  std::ranges::sort(speeds);
  return {speeds.back(), speeds[kPasses / 2]};
}

bool measure_file(const Tokenizer& tokenizer, const char* path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in || text.empty()) {
    std::fprintf(stderr, "cannot read %s\n", path);
    return false;
  }
  std::vector<int32_t> ids;
  std::string decoded;
  const Speed encode = measure(text.size(), [&] { ids = tokenizer.encode(text); });
  const Speed decode = measure(text.size(), [&] { decoded = tokenizer.decode(ids, false); });
  const double bytes_per_token = static_cast<double>(text.size()) / static_cast<double>(ids.size());
  std::printf("%s: %.1f MB, %.2f bytes/token, encode %.1f MB/s (median %.1f), decode %.0f MB/s%s\n",
              path, static_cast<double>(text.size()) / 1e6, bytes_per_token, encode.best,
              encode.median, decode.best, decoded == text ? "" : ", NOT the same text after NFC");
  return true;
}

int run(int argc, char** argv) {
  const double start = cpu_seconds();
  const auto tokenizer = Tokenizer::load(argv[1]);
  if (!tokenizer) {
    std::fprintf(stderr, "%s\n", tokenizer.error().message.c_str());
    return 1;
  }
  std::printf("%s: %d tokens, loaded in %.0f ms\n", argv[1], (*tokenizer)->vocab_size(),
              (cpu_seconds() - start) * 1e3);
  for (int i = 2; i < argc; ++i) {
    if (!measure_file(**tokenizer, argv[i])) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace deltaserve

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_tokenizer DIRECTORY [TEXT_FILE...]\n");
    return 2;
  }
  return deltaserve::run(argc, argv);
}
