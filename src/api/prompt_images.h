// The images of a chat prompt, in two steps: their files and sizes are known before the prompt's
// length is checked; decoding, which costs time and memory, comes only after.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/content_parts.h"
#include "base/error.h"
#include "engine/request.h"
#include "media/image_store.h"
#include "media/media_fetcher.h"

namespace deltaserve {

// What an API needs to take images; shared by all requests.
struct ImageInput {
  std::shared_ptr<ImageStore> store;
  std::shared_ptr<const MediaFetcher> fetcher;
  int32_t max_images = 0;      // of one request
  int64_t max_patches = 0;     // of one image
  int32_t image_token_id = 0;  // the placeholder
};

struct PromptImage {
  std::string path;           // of its part, for errors
  std::vector<uint8_t> file;  // as it was sent or fetched
  int64_t num_tokens = 0;
  int64_t position = 0;  // of its first placeholder, once the prompt is expanded
};

// Files and sizes of the parts. `input` is null if the model takes text only. Errors:
// kInvalidArgument naming the part.
Result<std::vector<PromptImage>> read_prompt_images(const ImageInput* input,
                                                    const std::vector<ImagePart>& parts);

// Repeats each placeholder token of a rendered prompt as often as its image has tokens, and notes
// where. Error: kInvalidArgument if the template did not show every image once.
Result<std::vector<int32_t>> expand_placeholders(int32_t image_token_id,
                                                 const std::vector<int32_t>& token_ids,
                                                 std::vector<PromptImage>& images);

// Decodes the images into request.vision_items and names them in request.content_keys, so that
// prompts of equal tokens and different images share no cache. Errors: kInvalidArgument naming the
// part, kUnavailable as ImageStore::load.
Result<void> load_prompt_images(const ImageInput& input, const std::vector<PromptImage>& images,
                                Request& request);

}  // namespace deltaserve
