// Signatures begin with a word that tells the two kinds apart.
#include "api/messages_api_signature.h"

#include <fmt/format.h>

#include <cstdint>

namespace deltaserve::messages_api {
namespace {

constexpr std::string_view kShown = "deltaserve-hash:";
constexpr std::string_view kHidden = "deltaserve-thought:";

// FNV-1a, 64 bits.
uint64_t hash(std::string_view text) {
  uint64_t value = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    value ^= static_cast<unsigned char>(c);
    value *= 0x100000001b3ULL;
  }
  return value;
}

}  // namespace

std::string signature_of(std::string_view thought) {
  return fmt::format("{}{:016x}", kShown, hash(thought));
}

std::string signature_with(std::string_view thought) {
  return fmt::format("{}{}", kHidden, thought);
}

std::optional<std::string> thought_in(std::string_view signature) {
  if (!signature.starts_with(kHidden)) {
    return std::nullopt;
  }
  return std::string(signature.substr(kHidden.size()));
}

}  // namespace deltaserve::messages_api
