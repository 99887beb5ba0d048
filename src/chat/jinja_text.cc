// Bytes plus the offsets where their origin changes. Almost every text has one origin and no cut.
#include "chat/jinja_text.h"

#include <algorithm>

namespace deltaserve::jinja {

void Text::append(std::string_view bytes, bool from_template) {
  if (bytes.empty()) {
    return;
  }
  if (bytes_.empty()) {
    first_from_template_ = from_template;
  } else if (last_from_template() != from_template) {
    cuts_.push_back(bytes_.size());
  }
  bytes_.append(bytes);
}

void Text::append(const Text& other, size_t begin, size_t end) {
  if (other.cuts_.empty()) {
    append(std::string_view(other.bytes_).substr(begin, end - begin), other.first_from_template_);
    return;
  }
  auto cut = std::upper_bound(other.cuts_.begin(), other.cuts_.end(), begin);
  bool from_template = other.from_template_at(begin);
  const std::string_view bytes = other.bytes_;
  while (begin < end) {
    const size_t stop = cut == other.cuts_.end() ? end : std::min(*cut, end);
    append(bytes.substr(begin, stop - begin), from_template);
    begin = stop;
    from_template = !from_template;
    if (cut != other.cuts_.end()) {
      ++cut;
    }
  }
}

Text Text::slice(size_t begin, size_t end) const {
  Text out;
  out.append(*this, begin, end);
  return out;
}

bool Text::from_template_at(size_t offset) const {
  const auto cut = std::upper_bound(cuts_.begin(), cuts_.end(), offset);
  return first_from_template_ ^ (((cut - cuts_.begin()) & 1) != 0);
}

}  // namespace deltaserve::jinja
