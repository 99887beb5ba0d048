// API keys: "Authorization: Bearer KEY" as OpenAI's clients send them, or "x-api-key: KEY" as
// Anthropic's do.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace deltaserve {

class Authenticator {
 public:
  // No keys: everybody may.
  explicit Authenticator(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  // The values of both headers, "" if absent; one right key is enough. Takes the same time
  // whichever key, or none, fits.
  bool allows(std::string_view authorization, std::string_view x_api_key) const;

  // Which of the keys it was, as a name that gives nothing of it away; "" without keys.
  std::string tenant(std::string_view authorization, std::string_view x_api_key) const;

 private:
  // 1 for the first key, 0 for none.
  size_t number_of(std::string_view guess) const;
  size_t number_of(std::string_view authorization, std::string_view x_api_key) const;

  std::vector<std::string> keys_;
};

}  // namespace deltaserve
