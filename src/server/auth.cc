// Compares keys without an early end, so that timing tells nothing of how much of a guess was
// right.
#include "server/auth.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace deltaserve {
namespace {

bool equal_constant_time(std::string_view guess, std::string_view key) {
  size_t difference = guess.size() ^ key.size();
  for (size_t i = 0; i < guess.size(); ++i) {
    const char expected = key.empty() ? '\0' : key[i % key.size()];
    difference |= static_cast<size_t>(static_cast<unsigned char>(guess[i] ^ expected));
  }
  return difference == 0;
}

}  // namespace

bool Authenticator::is_key(std::string_view guess) const {
  bool found = false;
  for (const std::string& key : keys_) {
    found |= equal_constant_time(guess, key);
  }
  return found;
}

bool Authenticator::allows(std::string_view authorization, std::string_view x_api_key) const {
  if (keys_.empty()) {
    return true;
  }
  constexpr std::string_view kScheme = "bearer ";
  const bool bearer =
      authorization.size() > kScheme.size() &&
      std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), [](char want, char got) {
        return want == static_cast<char>(std::tolower(static_cast<unsigned char>(got)));
      });
  bool allowed = bearer && is_key(authorization.substr(kScheme.size()));
  allowed |= !x_api_key.empty() && is_key(x_api_key);
  return allowed;
}

}  // namespace deltaserve
