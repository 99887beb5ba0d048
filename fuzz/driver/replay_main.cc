// Runs a fuzz target without libFuzzer: every seed of a corpus folder, then fixed mutations of the
// seeds (flips, cuts, repeats and splices from a seeded generator). Deterministic, so that a
// failure in a test run can be run again.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

// Enough to reach most shallow error paths of a parser in about a second.
constexpr int kMutations = 3000;

std::vector<Bytes> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry);
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> seeds;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

size_t below(std::mt19937_64& random, size_t bound) {
  return bound == 0 ? 0 : random() % bound;
}

Bytes mutate(const std::vector<Bytes>& seeds, std::mt19937_64& random) {
  Bytes bytes = seeds[below(random, seeds.size())];
  for (size_t edits = 1 + below(random, 4); edits > 0 && !bytes.empty(); --edits) {
    const size_t at = below(random, bytes.size());
    const auto here = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const size_t length = 1 + below(random, std::min<size_t>(bytes.size() - at, 64));
    switch (below(random, 5)) {
      case 0:
        bytes[at] = static_cast<uint8_t>(random());
        break;
      case 1:
        bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1U << below(random, 8)));
        break;
      case 2:
        bytes.erase(here, here + static_cast<std::ptrdiff_t>(length));
        break;
      case 3: {
        const Bytes copy(here, here + static_cast<std::ptrdiff_t>(length));
        bytes.insert(here, copy.begin(), copy.end());
        break;
      }
      default: {
        const Bytes& other = seeds[below(random, seeds.size())];
        const size_t from = below(random, other.size());
        const size_t take = std::min<size_t>(other.size() - from, 1 + below(random, 64));
        bytes.insert(here, other.begin() + static_cast<std::ptrdiff_t>(from),
                     other.begin() + static_cast<std::ptrdiff_t>(from + take));
      }
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  const std::vector<Bytes> seeds = read_corpus(argv[1]);
  if (seeds.empty()) {
    std::fprintf(stderr, "%s: no seeds\n", argv[1]);
    return 1;
  }
  for (const Bytes& seed : seeds) LLVMFuzzerTestOneInput(seed.data(), seed.size());
  std::mt19937_64 random(1);
  for (int i = 0; i < kMutations; ++i) {
    const Bytes bytes = mutate(seeds, random);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%zu seeds and %d mutations ran\n", seeds.size(), kMutations);
  return 0;
}
