// Status line and header fields as bytes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace deltaserve {

struct ResponseHead {
  int status = 200;
  std::string content_type;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<size_t> content_length;  // none: a stream
  bool chunked = false;                  // of a stream on HTTP/1.1
  bool keep_alive = true;
};

std::string write_head(const ResponseHead& head);

// One chunk of a chunked body; `data` must not be empty, since an empty chunk ends the body.
void append_chunk(std::string_view data, std::string& out);

}  // namespace deltaserve
