// Pins are the sequence's own and go with it.
#include "engine/picture_gate.h"

#include <algorithm>

namespace deltaserve {

bool PictureGate::is_ready(Sequence& sequence) {
  SequencePictures& pictures = sequence.pictures();
  if (pictures.pins.empty()) {
    if (crowded_) return false;
    const auto& items = sequence.request().vision_items;
    std::vector<std::shared_ptr<const VisionItem>> needed(items.size());
    for (const VisionRun& run : sequence.owner().layout.runs()) {
      if (run.end() <= pictures.from) continue;
      const auto index = static_cast<size_t>(run.item);
      needed[index] = items[index];
    }
    auto pins = cache_->pin(needed);
    crowded_ = !pins.has_value();
    if (crowded_) return false;
    pictures.pins = std::move(*pins);
  }
  return std::ranges::all_of(pictures.pins,
                             [](const EncodedPin& pin) { return pin == nullptr || pin->ready; });
}

bool PictureGate::holds(Sequence& sequence) {
  if (sequence.pictures().from < 0 || is_ready(sequence)) return false;
  ++num_held_;
  return true;
}

bool PictureGate::admits(Sequence& sequence) {
  const int64_t from = sequence.num_computed();
  SequencePictures& pictures = sequence.pictures();
  if (from >= sequence.owner().layout.vision_end()) {
    pictures = {};
    return true;
  }
  if (pictures.from < 0 || from < pictures.from) pictures = {.from = from, .pins = {}};
  if (is_ready(sequence)) return true;
  ++num_held_;
  return false;
}

}  // namespace deltaserve
