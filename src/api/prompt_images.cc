// URL to file, file to size, size to placeholders, file to pixels.
#include "api/prompt_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "media/data_url.h"

namespace deltaserve {
namespace {

std::unexpected<Error> about(const std::string& path, Error error) {
  error.message = fmt::format("'{}': {}", path, error.message);
  error.param = path;
  return std::unexpected(std::move(error));
}

Result<std::vector<uint8_t>> read_file(const ImageInput& input, std::string_view url) {
  return is_data_url(url) ? decode_data_url(url) : input.fetcher->fetch(url);
}

}  // namespace

Result<std::vector<PromptImage>> read_prompt_images(const ImageInput* input,
                                                    const std::vector<ImagePart>& parts) {
  std::vector<PromptImage> images;
  if (parts.empty()) {
    return images;
  }
  if (input == nullptr) {
    return invalid(
        fmt::format("'{}' is an image, but this model takes text only.", parts.front().path),
        parts.front().path);
  }
  if (static_cast<int64_t>(parts.size()) > input->max_images) {
    return invalid(fmt::format("The request has {} images: at most {} are taken "
                               "(--limit-mm-per-prompt).",
                               parts.size(), input->max_images),
                   parts[static_cast<size_t>(input->max_images)].path);
  }
  for (const ImagePart& part : parts) {
    Result<std::vector<uint8_t>> file = read_file(*input, part.url);
    if (!file) {
      return about(part.path, std::move(file.error()));
    }
    const Result<ImagePlan> plan = input->store->inspect(*file);
    if (!plan) {
      return about(part.path, plan.error());
    }
    images.push_back({part.path, *std::move(file), plan->num_tokens});
  }
  return images;
}

Result<std::vector<int32_t>> expand_placeholders(int32_t image_token_id,
                                                 const std::vector<int32_t>& token_ids,
                                                 std::vector<PromptImage>& images) {
  const auto shown = static_cast<size_t>(std::ranges::count(token_ids, image_token_id));
  if (shown != images.size()) {
    return invalid(fmt::format("The chat template shows {} images of the {} in the messages.",
                               shown, images.size()),
                   "messages");
  }
  std::vector<int32_t> out;
  out.reserve(token_ids.size());
  auto image = images.begin();
  for (const int32_t token : token_ids) {
    if (token == image_token_id) {
      image->position = static_cast<int64_t>(out.size());
      out.insert(out.end(), static_cast<size_t>(image->num_tokens), token);
      ++image;
    } else {
      out.push_back(token);
    }
  }
  return out;
}

Result<void> load_prompt_images(const ImageInput& input, const std::vector<PromptImage>& images,
                                Request& request) {
  for (const PromptImage& image : images) {
    Result<std::shared_ptr<const VisionItem>> item = input.store->load(image.file);
    if (!item) {
      return about(image.path, std::move(item.error()));
    }
    const auto& [low, high] = (*item)->content_hash;
    request.content_keys.push_back({image.position, {low, high}});
    request.vision_items.push_back(*std::move(item));
  }
  return {};
}

}  // namespace deltaserve
