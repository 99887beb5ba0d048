#include "backends/cpu/moe_workspace.h"

#include <algorithm>

#include "backends/cpu/matrix_multiply.h"
#include "base/check.h"

namespace deltaserve {
namespace {

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

MoeWorkspace::MoeWorkspace(std::byte* memory, int64_t tokens, int64_t K,
                           const CpuExpertsWeight& weight) {
  const int64_t pairs = tokens * K;
  const auto take = [&]<typename T>(T*& start, int64_t count) {
    start = memory == nullptr ? nullptr : reinterpret_cast<T*>(memory + bytes);
    bytes += ceil_div(count * static_cast<int64_t>(sizeof(T)), 64) * 64;
  };
  take(expert_start, weight.E + 1);
  take(token_of, pairs);
  take(place_of, pairs);
  take(works, weight.E + pairs / kMaxTaskRows);
  take(x, packed_bytes(pairs, weight.H));
  take(act, packed_bytes(pairs, weight.I));
  take(inner, pairs * weight.I);
  take(out, pairs * weight.H);
}

void sort_by_expert(const MoeArgs& args, int64_t tokens, const int32_t* ids, MoeWorkspace& ws) {
  const auto E = static_cast<int32_t>(args.experts->E);
  const int64_t pairs = tokens * args.K;
  std::fill(ws.expert_start, ws.expert_start + E + 1, 0);
  for (int64_t i = 0; i < pairs; ++i) {
    DS_CHECK(ids[i] >= 0 && ids[i] < E, "expert id out of range");
    ++ws.expert_start[ids[i] + 1];
  }
  for (int32_t e = 0; e < E; ++e) {
    ws.expert_start[e + 1] += ws.expert_start[e];
  }
  for (int64_t i = 0; i < pairs; ++i) {
    ws.place_of[i] = ws.expert_start[ids[i]]++;
    ws.token_of[ws.place_of[i]] = static_cast<int32_t>(i / args.K);
  }
  // The starts have moved to the ends; an expert ends where the next one starts.
  ws.num_works = 0;
  int32_t begin = 0;
  for (int32_t e = 0; e < E; ++e) {
    const int32_t end = ws.expert_start[e];
    while (begin < end) {
      const int32_t stop = std::min(end, begin + static_cast<int32_t>(kMaxTaskRows));
      ws.works[ws.num_works++] = {.expert = e, .begin = begin, .end = stop};
      begin = stop;
    }
  }
}

}  // namespace deltaserve
