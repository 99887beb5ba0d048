// Reading and counting; control tokens in a prompt are the template's own, never a user's.
#include "api/cache_fields.h"

#include <optional>

namespace deltaserve {
namespace {

constexpr size_t kMaxSaltBytes = 1024;
constexpr size_t kMaxNameBytes = 1024;
constexpr std::string_view kMessageStart = "<|im_start|>";

}  // namespace

std::string read_cache_salt(FieldReader& fields) {
  std::optional<std::string> salt = fields.string("cache_salt");
  if (!salt) {
    return {};
  }
  if (salt->empty() || salt->size() > kMaxSaltBytes) {
    fields.refuse("cache_salt", "'cache_salt' must be a string of 1 to 1024 bytes.");
  }
  return *std::move(salt);
}

std::string read_cache_name(FieldReader& fields) {
  std::string name = fields.string("prompt_cache_key").value_or("");
  if (name.size() > kMaxNameBytes) {
    fields.refuse("prompt_cache_key", "'prompt_cache_key' must have at most 1024 bytes.");
  }
  return name;
}

std::vector<int64_t> message_starts(const Tokenizer& tokenizer,
                                    std::span<const int32_t> prompt_token_ids) {
  std::vector<int64_t> starts;
  const std::optional<int32_t> start = tokenizer.token_to_id(kMessageStart);
  if (!start) {
    return starts;
  }
  for (size_t i = 0; i < prompt_token_ids.size(); ++i) {
    if (prompt_token_ids[i] == *start) {
      starts.push_back(static_cast<int64_t>(i));
    }
  }
  return starts;
}

}  // namespace deltaserve
