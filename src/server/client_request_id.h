// The id under which a request appears in the log and in the answer's X-Request-Id.
#pragma once

#include <string>
#include <string_view>

namespace deltaserve {

// The client's own id if it is 1 to 128 printable ASCII characters without spaces; else a new one:
// what a client sends must not be able to forge log lines or headers.
std::string choose_request_id(std::string_view wanted);

}  // namespace deltaserve
