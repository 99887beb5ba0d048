// Ids and times that name an answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace deltaserve {

// `prefix` and 128 random bits in hexadecimal.
std::string make_request_id(std::string_view prefix);

int64_t unix_seconds();

}  // namespace deltaserve
