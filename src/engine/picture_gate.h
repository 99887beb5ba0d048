// Keeps a sequence waiting until all pictures that its prompt still needs are encoded. What a
// prefix from the cache covers is not needed; so a sequence asks once its prefix is known.
#pragma once

#include "engine/encoder_cache.h"
#include "engine/sequence.h"

namespace deltaserve {

class PictureGate {
 public:
  // `cache` must outlive this.
  explicit PictureGate(EncoderCache& cache) : cache_(&cache) {}

  // Before the waiting sequences are walked in their order: who comes behind one that finds no room
  // takes none.
  void begin_walk() {
    crowded_ = false;
    num_held_ = 0;
  }
  // Whether the sequence asked in an earlier step and waits still.
  bool holds(Sequence& sequence);
  // Asks for what is needed behind the sequence's computed tokens; true: it is there.
  bool admits(Sequence& sequence);
  int64_t num_held() const { return num_held_; }  // in this walk

 private:
  bool is_ready(Sequence& sequence);

  EncoderCache* cache_;
  bool crowded_ = false;
  int64_t num_held_ = 0;
};

}  // namespace deltaserve
