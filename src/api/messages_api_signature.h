// The `signature` of a thinking block. Clients send thinking blocks back as they got them; this
// server trusts what comes back, so a signature proves nothing. It is a hash of the thought, or,
// where the client does not want to see the thought, the thought itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace deltaserve::messages_api {

// Of a thought that the block shows.
std::string signature_of(std::string_view thought);

// Of a thought that the block does not show.
std::string signature_with(std::string_view thought);

// The thought in a signature of the second kind; nothing for any other text.
std::optional<std::string> thought_in(std::string_view signature);

}  // namespace deltaserve::messages_api
