// API keys: "Authorization: Bearer KEY".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace deltaserve {

class Authenticator {
 public:
  // No keys: everybody may.
  explicit Authenticator(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  // `authorization` is the header's value. Takes the same time whichever key, or none, fits.
  bool allows(std::string_view authorization) const;

 private:
  std::vector<std::string> keys_;
};

}  // namespace deltaserve
