// The images and videos of a chat prompt, in two steps: their files and sizes are known before the
// prompt's length is checked; decoding, which costs time and memory, comes only after.
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
#include "media/video_processor.h"

namespace deltaserve {

// How the prompt shows a video.
struct VideoWording {
  std::string pad;  // the text of the placeholder, and of the tokens around a run of them
  std::string start;
  std::string end;
  // Whether the template's own start and end stay around all of a video's frames, each of which has
  // its own: as transformers has it since 5.10. Versions before and vLLM drop them.
  bool keeps_wrapper = true;
};

// What an API needs to take images and videos; shared by all requests.
struct MediaInput {
  std::shared_ptr<ImageStore> store;
  std::shared_ptr<const MediaFetcher> fetcher;  // of images
  std::shared_ptr<const MediaFetcher> video_fetcher;
  std::shared_ptr<const VideoProcessor> videos;
  VideoWording wording;
  int32_t max_images = 0;      // of one request
  int32_t max_videos = 0;      // of one request
  int64_t max_patches = 0;     // of one image or frame
  int32_t image_token_id = 0;  // the placeholders
  int32_t video_token_id = 0;
};

struct PromptMedia {
  std::string path;                // of its part, for errors
  VideoSource source;              // as it was sent or fetched; of an image its one file
  std::optional<VideoPlan> video;  // none: an image
  int64_t num_tokens = 0;          // of an image, or of each temporal patch
  int64_t position = 0;            // of its first placeholder, once the prompt is expanded

  // Placeholders side by side are a run.
  int64_t num_runs() const { return video ? std::ssize(video->timestamps) : 1; }
};

// Files and sizes of the parts. `input` is null if the model takes text only. Errors:
// kInvalidArgument naming the part.
Result<std::vector<PromptMedia>> read_prompt_media(const MediaInput* input,
                                                   const std::vector<MediaPart>& parts);

// Repeats each placeholder token of a rendered prompt, of which a video has one a temporal patch
// (see write_video_patches), as often as its run has tokens, and notes where. Error:
// kInvalidArgument if the template did not show every part once, in order.
Result<std::vector<int32_t>> expand_placeholders(const MediaInput& input,
                                                 const std::vector<int32_t>& token_ids,
                                                 std::vector<PromptMedia>& media);

// Decodes the parts into request.vision_items and names them in request.content_keys, so that
// prompts of equal tokens and different images share no cache. Errors: kInvalidArgument naming the
// part, kUnavailable as ImageStore::load.
Result<void> load_prompt_media(const MediaInput& input, const std::vector<PromptMedia>& media,
                               Request& request);

}  // namespace deltaserve
