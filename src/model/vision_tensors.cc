// The tower's layout: patch embedding, learned positions, `depth` blocks, merger.
#include "model/vision_tensors.h"

#include <utility>

namespace deltaserve {

std::vector<NamedShape> vision_tensor_shapes(const VisionConfig& vision) {
  const int64_t hidden = vision.hidden_size;
  const int64_t inner = vision.intermediate_size;
  const int64_t merged = hidden * vision.spatial_merge_size * vision.spatial_merge_size;
  std::vector<NamedShape> tensors;
  const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
    tensors.push_back({"model.visual." + name, std::move(shape)});
  };
  // A weight and its bias of one value a row.
  const auto add_pair = [&](const std::string& name, std::vector<int64_t> shape) {
    add(name + ".bias", {shape[0]});
    add(name + ".weight", std::move(shape));
  };
  add_pair("patch_embed.proj",
           {hidden, 3, vision.temporal_patch_size, vision.patch_size, vision.patch_size});
  add("pos_embed.weight", {vision.num_position_embeddings, hidden});
  for (int32_t i = 0; i < vision.depth; ++i) {
    const std::string block = "blocks." + std::to_string(i) + ".";
    add_pair(block + "norm1", {hidden});
    add_pair(block + "norm2", {hidden});
    add_pair(block + "attn.qkv", {3 * hidden, hidden});
    add_pair(block + "attn.proj", {hidden, hidden});
    add_pair(block + "mlp.linear_fc1", {inner, hidden});
    add_pair(block + "mlp.linear_fc2", {hidden, inner});
  }
  add_pair("merger.norm", {hidden});
  add_pair("merger.linear_fc1", {merged, merged});
  add_pair("merger.linear_fc2", {vision.out_hidden_size, merged});
  return tensors;
}

}  // namespace deltaserve
