// The ring of page-locked buffers; see memory_ops.h.
#include <algorithm>
#include <cstring>

#include "backends/cuda/memory_ops.h"

namespace deltaserve {

PinnedRing::PinnedRing(cudaStream_t stream) : stream_(stream) {
  for (Slot& slot : slots_) {
    void* memory = nullptr;
    check_cuda(cudaHostAlloc(&memory, kSlotBytes, cudaHostAllocDefault));
    slot.memory = static_cast<std::byte*>(memory);
    check_cuda(cudaEventCreateWithFlags(&slot.done, cudaEventDisableTiming));
  }
}

PinnedRing::~PinnedRing() {
  cudaStreamSynchronize(stream_);
  for (const Slot& slot : slots_) {
    cudaEventDestroy(slot.done);
    cudaFreeHost(slot.memory);
  }
}

// The buffer that has been in use longest, once it is free.
PinnedRing::Slot& PinnedRing::next() {
  Slot& slot = slots_[used_++ % kSlots];
  check_cuda(cudaEventSynchronize(slot.done));
  return slot;
}

void PinnedRing::to_device(void* to, const void* from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kSlotBytes) {
    const size_t piece = std::min(kSlotBytes, bytes - at);
    Slot& slot = next();
    std::memcpy(slot.memory, static_cast<const std::byte*>(from) + at, piece);
    check_cuda(cudaMemcpyAsync(static_cast<std::byte*>(to) + at, slot.memory, piece,
                               cudaMemcpyHostToDevice, stream_));
    check_cuda(cudaEventRecord(slot.done, stream_));
  }
}

void PinnedRing::to_host(void* to, const void* from, size_t bytes) {
  struct Transfer {
    Slot* slot;
    size_t at;
    size_t size;
  };
  std::array<Transfer, kSlots> pending{};
  size_t started = 0;
  size_t finished = 0;
  const auto finish_one = [&] {
    const Transfer& transfer = pending[finished++ % kSlots];
    check_cuda(cudaEventSynchronize(transfer.slot->done));
    std::memcpy(static_cast<std::byte*>(to) + transfer.at, transfer.slot->memory, transfer.size);
  };
  for (size_t at = 0; at < bytes; at += kSlotBytes) {
    if (started - finished == kSlots) {
      finish_one();
    }
    const size_t piece = std::min(kSlotBytes, bytes - at);
    Slot& slot = next();
    check_cuda(cudaMemcpyAsync(slot.memory, static_cast<const std::byte*>(from) + at, piece,
                               cudaMemcpyDeviceToHost, stream_));
    check_cuda(cudaEventRecord(slot.done, stream_));
    pending[started++ % kSlots] = {.slot = &slot, .at = at, .size = piece};
  }
  while (finished < started) {
    finish_one();
  }
}

}  // namespace deltaserve
