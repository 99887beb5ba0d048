// Works on text, before it is encoded: times are ordinary text that may touch what stands before.
#include "api/video_prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace deltaserve {
namespace {

std::string patches_text(const VideoWording& wording, const VideoPlan& plan) {
  std::string text;
  for (const double time : plan.timestamps) {
    text += fmt::format("<{:.1f} seconds>{}{}{}", time, wording.start, wording.pad, wording.end);
  }
  return text;
}

// Copies spans and writes the videos over their placeholders.
class VideoWriter {
 public:
  VideoWriter(const VideoWording& wording, const std::vector<PromptMedia>& media)
      : wording_(wording) {
    for (const PromptMedia& part : media) {
      if (part.video) videos_.push_back(&*part.video);
    }
  }

  void copy(std::string_view text, bool from_template) {
    const size_t begin = out_.text.size();
    if (from_template) {
      write(text);
    } else {
      out_.text += text;
    }
    out_.spans.push_back({begin, out_.text.size(), from_template});
  }

  size_t num_videos() const { return videos_.size(); }
  size_t num_shown() const { return shown_; }
  RenderedPrompt take() { return std::move(out_); }

 private:
  void write(std::string_view text) {
    for (size_t at = text.find(wording_.pad); at != text.npos; at = text.find(wording_.pad)) {
      std::string_view before = text.substr(0, at);
      text.remove_prefix(at + wording_.pad.size());
      if (!wording_.keeps_wrapper && before.ends_with(wording_.start) &&
          text.starts_with(wording_.end)) {
        before.remove_suffix(wording_.start.size());
        text.remove_prefix(wording_.end.size());
      }
      out_.text += before;
      if (shown_ < videos_.size()) out_.text += patches_text(wording_, *videos_[shown_]);
      ++shown_;
    }
    out_.text += text;
  }

  const VideoWording& wording_;
  std::vector<const VideoPlan*> videos_;
  RenderedPrompt out_;
  size_t shown_ = 0;
};

}  // namespace

Result<RenderedPrompt> write_video_patches(const VideoWording& wording,
                                           const std::vector<PromptMedia>& media,
                                           RenderedPrompt prompt) {
  VideoWriter writer(wording, media);
  if (writer.num_videos() == 0) return prompt;
  const std::string_view text = prompt.text;
  for (const RenderedPrompt::Span& span : prompt.spans) {
    writer.copy(text.substr(span.begin, span.end - span.begin), span.from_template);
  }
  if (writer.num_shown() != writer.num_videos()) {
    return invalid(fmt::format("The chat template shows {} videos of the {} in the messages.",
                               writer.num_shown(), writer.num_videos()),
                   "messages");
  }
  return writer.take();
}

}  // namespace deltaserve
