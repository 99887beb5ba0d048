// Text that remembers where each byte came from: the template's own source, or the request. Every
// string of the interpreter is one of these, so that a control token which a user typed can be told
// from one which the template wrote, even after trimming, joining or replacing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace deltaserve::jinja {

class Text {
 public:
  Text() = default;
  Text(std::string bytes, bool from_template)
      : bytes_(std::move(bytes)), first_from_template_(from_template) {}

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  void reserve(size_t bytes) { bytes_.reserve(bytes); }

  void append(std::string_view bytes, bool from_template);
  void append(const Text& other) { append(other, 0, other.size()); }
  // Appends bytes [begin, end) of `other` with their origins.
  void append(const Text& other, size_t begin, size_t end);
  Text slice(size_t begin, size_t end) const;

  // Origin of the byte at `offset`; of an empty text: true.
  bool from_template_at(size_t offset) const;

  // Offsets inside the text at which the origin changes, ascending; the first stretch has origin
  // first_from_template().
  const std::vector<size_t>& cuts() const { return cuts_; }
  bool first_from_template() const { return first_from_template_; }

 private:
  bool last_from_template() const { return first_from_template_ ^ ((cuts_.size() & 1) != 0); }

  std::string bytes_;
  std::vector<size_t> cuts_;
  bool first_from_template_ = true;
};

}  // namespace deltaserve::jinja
