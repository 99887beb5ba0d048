// Which rows of the vision embeddings a piece of a prompt needs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/batch.h"
#include "model/prompt_layout.h"

namespace deltaserve {

// Pages of the model's embeddings that hold `num_rows` rows of an item.
int64_t vision_pages_for(int64_t num_rows);

// Appends the copies for tokens [begin, end) of a prompt, whose first one is row `row` of the step.
// `pages`: of each item that the piece shows; row r of an item is in pages[item][r /
// kVisionPageRows].
void append_embedding_copies(const PromptLayout& layout,
                             std::span<const std::span<const int32_t>> pages, int64_t begin,
                             int64_t end, int32_t row, std::vector<EmbeddingCopy>& copies);

}  // namespace deltaserve
