// Writes key=value lines, so that they can be searched and summed with common tools.
#include "server/request_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <iterator>
#include <optional>

namespace deltaserve {
namespace {

const char* outcome_name(GenerationOutcome outcome) {
  switch (outcome) {
    case GenerationOutcome::kFinished:
      return "finished";
    case GenerationOutcome::kAborted:
      return "aborted";
    case GenerationOutcome::kFailed:
      return "failed";
  }
  return "failed";
}

std::string finish_text(const std::map<std::string, int32_t>& reasons) {
  std::string out;
  for (const auto& [reason, count] : reasons) {
    fmt::format_to(std::back_inserter(out), "{}{}", out.empty() ? "" : ",", reason);
    if (count > 1) {
      fmt::format_to(std::back_inserter(out), "x{}", count);
    }
  }
  return out.empty() ? "-" : out;
}

std::string milliseconds(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.1f}", *seconds * 1e3) : "-";
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr size_t kMaxBytes = 300;
  std::string out;
  for (const char c : text.substr(0, kMaxBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string generation_line(const GenerationRecord& record) {
  std::string line = fmt::format(
      "request id={} answer={} route={} status={} outcome={} stream={} n={} finish={} prompt={} "
      "cached={} completion={} reasoning={} queue_ms={} prefill_ms={} ttft_ms={} itl_ms={} "
      "total_ms={:.1f}",
      record.request_id, record.answer_id, record.route, record.status,
      outcome_name(record.outcome), record.stream, record.n, finish_text(record.finish_reasons),
      record.usage.prompt_tokens, record.usage.cached_tokens, record.usage.completion_tokens,
      record.usage.reasoning_tokens, milliseconds(record.queue), milliseconds(record.prefill),
      milliseconds(record.first_token), milliseconds(record.inter_token), record.total * 1e3);
  if (!record.reason.empty()) {
    fmt::format_to(std::back_inserter(line), " reason=\"{}\"", printable(record.reason));
  }
  return line;
}

void log_generation(const GenerationRecord& record) {
  spdlog::info("{}", generation_line(record));
}

void log_remark(std::string_view request_id, std::string_view what) {
  spdlog::warn("request id={} remark=\"{}\"", request_id, printable(what));
}

void log_refusal(std::string_view request_id, std::string_view method, std::string_view path,
                 int status, std::string_view what) {
  const auto level = status >= 500 ? spdlog::level::err : spdlog::level::warn;
  spdlog::log(level, "refused id={} {} {} status={} reason=\"{}\"", request_id, printable(method),
              printable(path), status, printable(what));
}

}  // namespace deltaserve
