// The log's lines about requests: one for each generation that ends, one for each request that is
// answered with an error. Text that came from a client is cut and freed of control characters.
#pragma once

#include <string>
#include <string_view>

#include "server/generation_record.h"

namespace deltaserve {

// "request id=... route=... status=... finish=... prompt=12 cached=0 completion=50 ...
// total_ms=60.1"
std::string generation_line(const GenerationRecord& record);
void log_generation(const GenerationRecord& record);

// Something about a request that is served all the same.
void log_remark(std::string_view request_id, std::string_view what);

// Level error from status 500, warning below. `what` says what is wrong.
void log_refusal(std::string_view request_id, std::string_view method, std::string_view path,
                 int status, std::string_view what);

// At most 300 bytes, control characters as "\x0a".
std::string printable(std::string_view text);

}  // namespace deltaserve
