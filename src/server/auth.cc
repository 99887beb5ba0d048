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

size_t Authenticator::number_of(std::string_view guess) const {
  size_t number = 0;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (equal_constant_time(guess, keys_[i])) {
      number = i + 1;
    }
  }
  return number;
}

size_t Authenticator::number_of(std::string_view authorization, std::string_view x_api_key) const {
  constexpr std::string_view kScheme = "bearer ";
  const bool bearer =
      authorization.size() > kScheme.size() &&
      std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), [](char want, char got) {
        return want == static_cast<char>(std::tolower(static_cast<unsigned char>(got)));
      });
  const size_t first = bearer ? number_of(authorization.substr(kScheme.size())) : 0;
  const size_t second = x_api_key.empty() ? 0 : number_of(x_api_key);
  return first != 0 ? first : second;
}

bool Authenticator::allows(std::string_view authorization, std::string_view x_api_key) const {
  return keys_.empty() || number_of(authorization, x_api_key) != 0;
}

std::string Authenticator::tenant(std::string_view authorization,
                                  std::string_view x_api_key) const {
  return keys_.empty() ? std::string() : std::to_string(number_of(authorization, x_api_key));
}

}  // namespace deltaserve
