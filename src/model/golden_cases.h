// Recorded cases that `verify` compares a model with: one safetensors file, per case NAME
//   NAME.input_ids [T] int32     the prompt
//   NAME.logits [T, V] float32   after every prompt token; or [R, V] after those in
//   NAME.logits_rows [R] int32   (ascending, optional)
//   NAME.hidden.i [T, H] float32  optional: 0 the embeddings, then after each layer, the last one
//                                after the final norm
//   NAME.greedy_ids [n] int32, NAME.greedy_logits [n, V] float32   optional: ids[0] follows the
//                                prompt, logits[i] come after ids[0..i] have been fed
// A case with pictures has beside that
//   NAME.pixel_values [N, W] uint8, or float32 of 256 levels from -1 to 1   their patches
//   NAME.grid_thw [K, 3] int32   frames (several: a video), rows and columns of patches of each
//   NAME.vision_embeds [n, H] float32   what the vision tower makes of them
//   NAME.position_ids [3, T] int32      optional: M-RoPE positions of the prompt
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "media/vision_item.h"
#include "model/config.h"
#include "tensor/safetensors.h"

namespace deltaserve {

struct GoldenCase {
  std::string name;
  std::vector<int32_t> input_ids;    // [T]
  std::vector<int32_t> logits_rows;  // [R] prompt positions
  TensorView logits;                 // [R, V]
  std::vector<TensorView> hidden;    // each [T, H], layers + 1 of them or none
  std::vector<int32_t> greedy_ids;   // [n]
  TensorView greedy_logits;          // [n, V]
  std::vector<std::shared_ptr<const VisionItem>> items;
  TensorView vision_embeds;           // [n, H]; empty without items
  std::vector<int32_t> position_ids;  // [3, T] or empty

  bool has_pictures = false;  // `items` is empty all the same if the model has no vision_config

  bool needs_vision() const { return has_pictures; }
};

// All cases in name order; views point into `file`. Errors name the tensor that is missing, has the
// wrong shape for `config`, or holds an id outside the vocabulary.
Result<std::vector<GoldenCase>> read_golden_cases(const SafetensorsFile& file,
                                                  const ModelConfig& config);

}  // namespace deltaserve
