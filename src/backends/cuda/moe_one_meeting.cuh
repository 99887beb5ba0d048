// What the thread blocks of one token's experts tell each other, without a barrier of the device.
#pragma once

#include <cstdint>

#include "backends/cuda/moe_one_shape.cuh"

namespace deltaserve::cuda {

// What the thread blocks tell each other: words of a value in the low half and in the high half the
// number of the launch that it is of, so that whoever needs a value waits for nothing but itself.
// Every launch of a model writes the same words and reads no others, so a word has the number of
// this launch or of the one before; numbers repeat after 2^25. All zero before the first.
using MeetingWord = unsigned long long;
struct OneMeeting {
  uint32_t tickets;  // blocks that have begun, of all launches
  uint32_t unused[31];
  alignas(128) MeetingWord results[kOneMostE + 32];     // of the router
  alignas(128) MeetingWord act[kOneMostK * kOneI / 2];  // two of act's [K][I] each
  alignas(128) MeetingWord shared_act[kOneI / 2];
};
static_assert((kOneGrid & (kOneGrid - 1)) == 0);  // tickets wrap around between launches

// The tickets that one thread of each block has seen, behind the wait for the kernel before; the
// number of this launch is how many launches of them there are, and one. A block's own is not among
// those that it has seen, and so all of a launch make the same number of them.
__device__ __forceinline__ uint32_t take_ticket(OneMeeting* meeting) {
  uint32_t seen;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
               : "=r"(seen)
               : "l"(&meeting->tickets)
               : "memory");
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(&meeting->tickets) : "memory");
  return seen;
}

__device__ __forceinline__ void publish(MeetingWord* place, uint32_t launch, uint32_t value) {
  const MeetingWord word = MeetingWord{launch} << 32U | value;
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(place), "l"(word) : "memory");
}

__device__ __forceinline__ MeetingWord look_at(const MeetingWord* place) {
  MeetingWord word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(place) : "memory");
  return word;
}
// Four words, each as a whole; `place` is aligned to two.
__device__ __forceinline__ void look_at_four(const MeetingWord* place, MeetingWord (&words)[4]) {
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(words[i]), "=l"(words[i + 1])
                 : "l"(place + i)
                 : "memory");
  }
}
__device__ __forceinline__ bool is_of(MeetingWord word, uint32_t launch) {
  return static_cast<uint32_t>(word >> 32U) == launch;
}
__device__ __forceinline__ uint32_t value_of(MeetingWord word) {
  return static_cast<uint32_t>(word);
}

}  // namespace deltaserve::cuda
