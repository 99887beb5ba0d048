// Rotary embedding from config.json: base frequencies, the interleaved M-RoPE axes and YaRN.
#pragma once

#include <cstdint>

#include "model/config.h"
#include "model/config_reader.h"

namespace deltaserve {

struct ParsedRope {
  RopeConfig rope;
  // Longest context: YaRN stretches the original one by its factor.
  int64_t max_position_embeddings = 0;
};

// Reads rope_parameters, or rope_scaling, or the flat keys of older files. Errors go to `text`:
// rope types other than default and yarn, sections that do not fill the rotary dimensions.
// `is_multimodal`: an absent mrope_section means the family's [11, 11, 10].
ParsedRope parse_rope(ConfigReader& text, int32_t head_dim, int64_t max_position_embeddings,
                      bool is_multimodal);

}  // namespace deltaserve
