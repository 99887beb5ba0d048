// Reading of trace files: one JSON object a line, definitions before their use.
#include <fmt/format.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include "json/json.h"
#include "trace.h"

namespace deltaserve {
namespace {

constexpr int64_t kVersion = 1;

int64_t integer(const json::Object& object, std::string_view key) {
  return object.at(key).to_number<int64_t>();
}

std::vector<TokenRun> read_runs(const json::Value& value) {
  std::vector<TokenRun> runs;
  for (const json::Value& item : value.as_array()) {
    const json::Array& run = item.as_array();
    runs.push_back(
        {.seed = run.at(0).to_number<int64_t>(), .count = run.at(1).to_number<int64_t>()});
    if (runs.back().count < 0) throw std::invalid_argument("a run of negative length");
  }
  return runs;
}

TracePiece::Kind kind_of(std::string_view role) {
  if (role == "system") return TracePiece::Kind::kSystem;
  if (role == "user") return TracePiece::Kind::kUser;
  if (role == "assistant") return TracePiece::Kind::kAssistant;
  if (role == "tool") return TracePiece::Kind::kTool;
  throw std::invalid_argument(fmt::format("unknown role '{}'", role));
}

class Reader {
 public:
  void read_line(std::string_view line) {
    Result<json::Value> value = json::parse(line);
    if (!value) throw std::invalid_argument(value.error().message);
    const json::Object& object = value->as_object();
    const std::string_view type = object.at("type").as_string();
    if (type == "trace") return check_version(object);
    if (type == "tools") return read_tools(object);
    if (type == "message") return read_message(object);
    if (type == "request") return read_request(object);
    throw std::invalid_argument(fmt::format("unknown type '{}'", type));
  }

  Trace take() { return std::move(trace_); }

 private:
  static void check_version(const json::Object& object) {
    if (integer(object, "version") == kVersion) return;
    throw std::invalid_argument(fmt::format("version {} of traces is needed", kVersion));
  }

  int32_t add(TracePiece piece) {
    trace_.pieces.push_back(std::move(piece));
    return static_cast<int32_t>(trace_.pieces.size()) - 1;
  }

  void read_tools(const json::Object& object) {
    TracePiece piece{.kind = TracePiece::Kind::kTools, .runs = read_runs(object.at("tokens"))};
    tools_[integer(object, "id")] = add(std::move(piece));
  }

  void read_message(const json::Object& object) {
    TracePiece piece{.kind = kind_of(object.at("role").as_string()),
                     .runs = read_runs(object.at("tokens"))};
    if (piece.kind == TracePiece::Kind::kAssistant) {
      piece.short_runs = read_runs(object.at("short"));
      piece.header_len = integer(object, "header");
    }
    messages_[integer(object, "id")] = add(std::move(piece));
  }

  void read_request(const json::Object& object) {
    if (integer(object, "id") != static_cast<int64_t>(trace_.requests.size())) {
      throw std::invalid_argument("requests are numbered in order");
    }
    TraceRequest request;
    request.session = integer(object, "session");
    request.kind = object.at("kind").as_string();
    request.at = object.at("at").to_number<double>();
    request.pause = object.at("pause").to_number<double>();
    for (const json::Value& id : object.at("after").as_array()) {
      const int64_t before = id.to_number<int64_t>();
      if (before < 0 || before >= static_cast<int64_t>(trace_.requests.size())) {
        throw std::invalid_argument("a request waits for one that does not stand before it");
      }
      request.after.push_back(static_cast<int32_t>(before));
    }
    request.pieces.push_back(first_piece(object));
    for (const json::Value& id : object.at("messages").as_array()) {
      request.pieces.push_back(messages_.at(id.to_number<int64_t>()));
    }
    request.last_query = static_cast<int32_t>(integer(object, "last_query")) + 1;
    request.reply = messages_.at(integer(object, "reply"));
    request.num_prompt_tokens = integer(object, "prompt_tokens");
    request.num_output_tokens = integer(object, "output_tokens");
    check(request);
    trace_.requests.push_back(std::move(request));
  }

  int32_t first_piece(const json::Object& object) {
    const int64_t tools = integer(object, "tools");
    if (tools >= 0) return tools_.at(tools);
    if (begin_ < 0) {
      const json::Value header = {{15, 3}};  // what bench/replay/render.py begins with
      begin_ = add({.kind = TracePiece::Kind::kTools, .runs = read_runs(header)});
    }
    return begin_;
  }

  void check(const TraceRequest& request) const {
    const int64_t prompt = count_tokens(prompt_runs(trace_, request));
    const int64_t output = count_tokens(output_runs(trace_, request));
    if (prompt == request.num_prompt_tokens && output == request.num_output_tokens && output > 0) {
      return;
    }
    throw std::invalid_argument(fmt::format("{} and {} tokens of prompt and answer, not {} and {}",
                                            prompt, output, request.num_prompt_tokens,
                                            request.num_output_tokens));
  }

  Trace trace_;
  std::unordered_map<int64_t, int32_t> tools_;
  std::unordered_map<int64_t, int32_t> messages_;
  int32_t begin_ = -1;  // piece of prompts without tools
};

}  // namespace

Result<Trace> read_trace(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return invalid(fmt::format("{} cannot be read", path.string()), "trace");
  Reader reader;
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    try {
      reader.read_line(line);
    } catch (const std::exception& e) {
      return invalid(fmt::format("{}:{}: {}", path.string(), number, e.what()), "trace");
    }
  }
  return reader.take();
}

}  // namespace deltaserve
