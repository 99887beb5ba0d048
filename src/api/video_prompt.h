// How a video stands in a prompt: in place of the one placeholder of the template, its temporal
// patches one after the other, each with its time before it.
#pragma once

#include <vector>

#include "api/prompt_media.h"
#include "base/error.h"
#include "chat/chat_template.h"

namespace deltaserve {

// Writes "<0.3 seconds>", start, pad and end for each temporal patch of each video over the
// placeholders in the template's own text; what a user typed stays. Error: kInvalidArgument if the
// template did not show every video once.
Result<RenderedPrompt> write_video_patches(const VideoWording& wording,
                                           const std::vector<PromptMedia>& media,
                                           RenderedPrompt prompt);

}  // namespace deltaserve
