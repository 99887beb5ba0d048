// Any tokens as an answer, through a streamed and a whole session: no crash, both say the same,
// every event is JSON, arguments of a call stay the beginning of JSON, and counts add up. The first
// byte chooses thinking, tools, stop strings and the syntax of calls, the second the tokens of a
// step; then each byte is a token: the four tags, the end, pieces of calls, or the byte itself.
#include <array>
#include <boost/json/stream_parser.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_service.h"
#include "api/generation_session.h"

namespace {

using namespace deltaserve;  // NOLINT: one file, one purpose

constexpr std::string_view kTools =
    R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",
        "properties":{"s":{"type":"string"},"n":{"type":"integer"}}}}}])";

// What bytes from 128 on stand for.
constexpr std::string_view kPieces[] = {"<think>",
                                        "</think>",
                                        "<tool_call>",
                                        "</tool_call>",
                                        "<function=f>",
                                        "</function>",
                                        "<parameter=s>",
                                        "<parameter=n>",
                                        "</parameter>",
                                        "{\"name\": \"f\", ",
                                        "\"arguments\": {",
                                        "}}",
                                        "stop",
                                        "日",
                                        "\n\n"};

void require(bool condition) {
  if (!condition) std::abort();
}

struct Target {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;
  std::array<int32_t, 128> bytes{};
  std::vector<std::vector<int32_t>> pieces;

  Target() {
    const auto directory =
        std::filesystem::path(__FILE__).parent_path().parent_path() / "models" / "tiny";
    tokenizer = Tokenizer::load(directory).value();
    chat_template = ChatTemplate::load(directory).value();
    for (int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
      const std::string_view text = tokenizer->token_bytes(id);
      if (text.size() == 1 && static_cast<unsigned char>(text[0]) < 128) {
        bytes[static_cast<unsigned char>(text[0])] = id;
      }
    }
    for (const std::string_view piece : kPieces) pieces.push_back(tokenizer->encode(piece));
  }

  std::shared_ptr<ServingContext> context(uint8_t mode) const {
    auto made = std::make_shared<ServingContext>();
    made->tokenizer = tokenizer.get();
    made->chat_template = chat_template.get();
    made->model_ids = {"tiny"};
    made->max_model_len = 1 << 20;
    made->chat.tool_calls = (mode & 1U) != 0 ? ToolCallFormat::kJson : ToolCallFormat::kXml;
    return made;
  }

  std::vector<int32_t> tokens(const uint8_t* data, size_t size) const {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < size; ++i) {
      if (data[i] < 128) {
        ids.push_back(bytes[data[i]]);
      } else {
        const auto& piece = pieces[data[i] % pieces.size()];
        ids.insert(ids.end(), piece.begin(), piece.end());
      }
    }
    return ids;
  }
};

std::string body_of(uint8_t mode) {
  std::string body = R"({"messages":[{"role":"user","content":"x"}],"logprobs":true)";
  body += (mode & 2U) != 0 ? R"(,"enable_thinking":true)" : R"(,"enable_thinking":false)";
  if ((mode & 4U) != 0) body += kTools;
  if ((mode & 8U) != 0) body += R"(,"stop":["stop","\n\n\n"])";
  if ((mode & 16U) != 0) body += R"(,"parallel_tool_calls":false)";
  if ((mode & 32U) != 0) body += R"(,"tool_choice":"none")";
  return body + "}";
}

struct Said {
  std::string content;
  std::string reasoning;
  std::map<int64_t, std::string> arguments;
  std::string finish;
  size_t num_logprobs = 0;
};

std::string_view text_at(const json::Object& object, std::string_view key) {
  const json::Value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : "";
}

void read_chunk(std::string_view event, Said& said) {
  require(event.starts_with("data: "));
  const auto parsed = json::parse(event.substr(6));
  require(parsed.has_value());
  const json::Object& choice = parsed->at("choices").at(0).as_object();
  require(said.finish.empty());
  said.finish = text_at(choice, "finish_reason");
  const json::Object& delta = choice.at("delta").as_object();
  said.content += text_at(delta, "content");
  said.reasoning += text_at(delta, "reasoning_content");
  if (choice.at("logprobs").is_object()) {
    said.num_logprobs += choice.at("logprobs").at("content").as_array().size();
  }
  if (const json::Value* calls = delta.if_contains("tool_calls")) {
    const json::Object& call = calls->at(0).as_object();
    said.arguments[call.at("index").as_int64()] +=
        text_at(call.at("function").as_object(), "arguments");
  }
}

Said read_stream(std::string_view events) {
  Said said;
  while (events != "data: [DONE]\n\n") {
    const size_t end = events.find("\n\n");
    require(end != std::string_view::npos);
    read_chunk(events.substr(0, end), said);
    events.remove_prefix(end + 2);
  }
  return said;
}

struct Answer {
  std::string text;  // events or body
  Usage usage;
};

Answer run(const std::shared_ptr<ServingContext>& context, const GenerationJob& job, bool stream,
           const std::vector<int32_t>& ids, size_t step, bool stopped) {
  ResponseOptions options = job.options;
  options.stream = stream;
  GenerationSession session(context, options, job.prompts);
  Answer answer;
  for (size_t at = 0; at < ids.size() && !session.finished();) {
    RequestOutput output;
    ChoiceOutput& choice = output.choices.emplace_back();
    for (size_t n = 0; n < step && at < ids.size(); ++n, ++at) {
      choice.token_ids.push_back(ids[at]);
      choice.logprobs.push_back({ids[at], -1.0F, {}});
    }
    if (at == ids.size())
      choice.finish_reason = stopped ? FinishReason::kStop : FinishReason::kLength;
    if (at == ids.size() && stopped) choice.stop_token = ids.back();
    require(!session.on_output(0, output, answer.text).error);
  }
  require(session.finished());
  if (stream) {
    session.append_stream_end(answer.text);
  } else {
    require(answer.text.empty());
    answer.text = session.body();
  }
  answer.usage = session.usage();
  return answer;
}

void check_arguments(const std::string& arguments) {
  boost::json::parse_options options;
  options.max_depth = json::ParseLimits{}.max_depth;
  boost::json::stream_parser parser(boost::json::storage_ptr(), options);
  boost::system::error_code error;
  parser.write(arguments.data(), arguments.size(), error);
  require(!error);
}

void compare(const Said& streamed, std::string_view body) {
  const auto parsed = json::parse(body);
  require(parsed.has_value());
  const json::Object& choice = parsed->at("choices").at(0).as_object();
  const json::Object& message = choice.at("message").as_object();
  require(text_at(choice, "finish_reason") == streamed.finish);
  require(text_at(message, "content") == streamed.content);
  require(text_at(message, "reasoning_content") == streamed.reasoning);
  const json::Value* calls = message.if_contains("tool_calls");
  const size_t num_calls = calls == nullptr ? 0 : calls->as_array().size();
  require(num_calls <= streamed.arguments.size());
  for (size_t i = 0; i < num_calls; ++i) {
    require(
        json::parse(text_at(calls->at(i).at("function").as_object(), "arguments"))->is_object());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Target target;
  if (size < 3 || size > 4096) return 0;
  const auto context = target.context(data[0]);
  ApiService service("0");
  service.set_ready(context);
  const auto prepared = service.chat(body_of(data[0]));
  require(prepared.has_value());
  const bool stopped = (data[0] & 64U) != 0;
  std::vector<int32_t> ids = target.tokens(data + 2, size - 2);
  if (stopped) ids.push_back(target.tokenizer->token_to_id("<|im_end|>").value());
  const size_t step = 1 + data[1] % 16;
  const Answer streamed = run(context, prepared->job, true, ids, step, stopped);
  const Answer whole = run(context, prepared->job, false, ids, step, stopped);
  const Answer single = run(context, prepared->job, true, ids, 1, stopped);
  const Said said = read_stream(streamed.text);
  compare(said, whole.text);
  compare(read_stream(single.text), whole.text);
  for (const auto& [index, arguments] : said.arguments) check_arguments(arguments);
  require(streamed.usage.completion_tokens == whole.usage.completion_tokens);
  require(streamed.usage.reasoning_tokens <= streamed.usage.completion_tokens);
  require(said.num_logprobs <= static_cast<size_t>(streamed.usage.completion_tokens));
  return 0;
}
