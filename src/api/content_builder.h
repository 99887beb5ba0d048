// Builds `content` of a chat message out of texts and other parts in their order: a string if there
// are texts alone, which follow each other without a separator, else an array of parts.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

class ContentBuilder {
 public:
  void add_text(std::string_view text) { text_ += text; }

  void add_part(json::Object part) {
    end_text();
    parts_.push_back(std::move(part));
  }

  json::Value take() {
    if (parts_.empty()) {
      return json::Value(text_);
    }
    end_text();
    return json::Value(std::move(parts_));
  }

 private:
  void end_text() {
    if (!text_.empty()) {
      parts_.push_back(json::Object{{"type", "text"}, {"text", text_}});
      text_.clear();
    }
  }

  std::string text_;  // since the last part
  json::Array parts_;
};

// What `content` of a request is for a chat message: a string as it is, of an array what `add`
// makes of its parts up to the first error.
using AddPart = std::function<Result<void>(const json::Value& part, const std::string& path,
                                           ContentBuilder& content)>;
Result<json::Value> build_content(const json::Value& content, const std::string& path,
                                  const AddPart& add);

}  // namespace deltaserve
