// Writes log probabilities directly as text: they are the largest part of a response that has them.
#include "api/logprobs_json.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <set>

#include "json/json.h"

namespace deltaserve {
namespace {

// What JSON gets for a probability of zero, which it cannot write as -inf; OpenAI's own value.
constexpr float kZeroProbability = -9999.0F;

void append_number(float logprob, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}",
                 std::isfinite(logprob) ? logprob : kZeroProbability);
}

std::string token_text(const Tokenizer& tokenizer, int32_t id) {
  return tokenizer.decode({id}, false);
}

void append_bytes(std::string_view bytes, std::string& out) {
  out += '[';
  for (size_t i = 0; i < bytes.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",",
                   static_cast<unsigned char>(bytes[i]));
  }
  out += ']';
}

void append_token(const Tokenizer& tokenizer, int32_t id, float logprob, bool visible,
                  std::string& out) {
  out += "{\"token\":";
  json::append_quoted(token_text(tokenizer, id), out);
  out += ",\"logprob\":";
  append_number(logprob, out);
  out += ",\"bytes\":";
  append_bytes(visible ? tokenizer.token_bytes(id) : std::string_view(), out);
}

// {"token":logprob,...}; of tokens with the same text the most likely one is written.
void append_top_object(const Tokenizer& tokenizer, const LogprobEntry& entry, std::string& out) {
  std::set<std::string> written;
  const auto append = [&](int32_t id, float logprob) {
    const std::string text = token_text(tokenizer, id);
    if (!written.insert(text).second) {
      return;
    }
    out += written.size() == 1 ? "" : ",";
    json::append_quoted(text, out);
    out += ':';
    append_number(logprob, out);
  };
  out += '{';
  for (const TopLogprob& top : entry.top) {
    append(top.token, top.logprob);
  }
  append(entry.token, *entry.logprob);
  out += '}';
}

}  // namespace

void append_logprob_objects(const Tokenizer& tokenizer, const std::vector<LogprobEntry>& entries,
                            std::string& out) {
  for (size_t i = 0; i < entries.size(); ++i) {
    const LogprobEntry& entry = entries[i];
    out += i == 0 ? "" : ",";
    append_token(tokenizer, entry.token, entry.logprob.value_or(0.0F), entry.visible, out);
    out += ",\"top_logprobs\":[";
    for (size_t k = 0; k < entry.top.size(); ++k) {
      out += k == 0 ? "" : ",";
      append_token(tokenizer, entry.top[k].token, entry.top[k].logprob, true, out);
      out += '}';
    }
    out += "]}";
  }
}

void append_chat_logprobs(const Tokenizer& tokenizer, const std::vector<LogprobEntry>& entries,
                          std::string& out) {
  out += "{\"content\":[";
  append_logprob_objects(tokenizer, entries, out);
  out += "]}";
}

void append_completion_logprobs(const Tokenizer& tokenizer,
                                const std::vector<LogprobEntry>& entries, std::string& out) {
  std::string tokens;
  std::string logprobs;
  std::string tops;
  std::string offsets;
  for (size_t i = 0; i < entries.size(); ++i) {
    const LogprobEntry& entry = entries[i];
    for (std::string* list : {&tokens, &logprobs, &tops, &offsets}) {
      *list += i == 0 ? "" : ",";
    }
    json::append_quoted(token_text(tokenizer, entry.token), tokens);
    if (entry.logprob) {
      append_number(*entry.logprob, logprobs);
      append_top_object(tokenizer, entry, tops);
    } else {
      logprobs += "null";
      tops += "null";
    }
    fmt::format_to(std::back_inserter(offsets), "{}", entry.text_offset);
  }
  fmt::format_to(std::back_inserter(out),
                 "{{\"tokens\":[{}],\"token_logprobs\":[{}],\"top_logprobs\":[{}],"
                 "\"text_offset\":[{}]}}",
                 tokens, logprobs, tops, offsets);
}

}  // namespace deltaserve
