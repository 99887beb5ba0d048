// What a backend must know before the first op: the largest step, and the shapes that decide how
// caches are laid out. Apart from backend.h so that device code, which has no std::expected, can
// read it.
#pragma once

#include <cstdint>

namespace deltaserve {

// What decides which kernels the vision tower needs; asked once, before its weights are loaded.
struct VisionShape {
  int32_t num_heads = 0;
  int32_t head_dim = 0;  // 64 or 72 in the releases, a multiple of 4
};

// What decides how much scratch the ops of the text model take; zeros where it has no such layers.
struct ModelShape {
  int32_t num_heads = 0;  // of attention
  int32_t num_kv_heads = 0;
  int32_t head_dim = 0;
  int32_t num_k_heads = 0;  // of the delta rule
  int32_t num_v_heads = 0;
  int32_t dk = 0;
  int32_t dv = 0;
  int64_t hidden_size = 0;
  int64_t inner_size = 0;   // I of the dense or the shared MLP
  int64_t num_experts = 0;  // E
  int64_t experts_per_token = 0;
  int64_t expert_size = 0;  // I of an expert
  int64_t vocab_size = 0;
};

// The largest step the engine will ever run; a backend sizes its workspace from it once.
struct StepLimits {
  int64_t max_tokens = 0;  // T
  int64_t max_seqs = 0;    // B
  int64_t max_model_len = 0;
  int64_t max_logits_rows = 0;    // R where it is more than max_seqs (prompt logprobs); else 0
  int64_t max_vision_rows = 0;    // patches of a call of a vision op; keys may be more. 0: no tower
  int64_t max_frame_patches = 0;  // of a picture, or of a frame of a video; 0: none are taken
  int64_t vision_pages = 0;       // of embeddings that the model keeps
  VisionShape vision = {};        // where there is a tower
  ModelShape model = {};          // zeros: ops take their scratch when they first need it
};

// Shapes that decide the cache layouts.
struct CacheShape {
  int32_t num_kv_heads = 0;
  int32_t head_dim = 0;
  int32_t num_v_heads = 0;
  int32_t dk = 0;
  int32_t dv = 0;
};

}  // namespace deltaserve
