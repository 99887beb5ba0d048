// See session_fixture.h.
#include "session_fixture.h"

namespace deltaserve {

std::vector<RequestOutput> SessionTest::steps(const std::vector<int32_t>& ids, FinishReason reason,
                                              int32_t index) {
  std::vector<RequestOutput> out;
  for (size_t i = 0; i < ids.size(); ++i) {
    RequestOutput output;
    output.num_cached_tokens = 3;
    ChoiceOutput choice;
    choice.index = index;
    choice.token_ids = {ids[i]};
    choice.logprobs = {{ids[i], -0.5F, {{ids[i], -0.5F}, {7, -1.25F}}}};
    if (i + 1 == ids.size()) {
      choice.finish_reason = reason;
      if (reason == FinishReason::kStop) {
        choice.stop_token = ids[i];
      }
    }
    output.choices.push_back(std::move(choice));
    out.push_back(std::move(output));
  }
  return out;
}

std::vector<int32_t> SessionTest::encode(std::string_view text) const {
  return context_->tokenizer->encode(text);
}

std::vector<int32_t> SessionTest::with_eos(std::string_view text) const {
  std::vector<int32_t> ids = encode(text);
  ids.push_back(kEos);
  return ids;
}

Answer SessionTest::run(const ApiService::Prepared& prepared,
                        const std::vector<RequestOutput>& outputs) {
  Answer answer;
  for (const bool stream : {true, false}) {
    ResponseOptions options = prepared.job.options;
    options.stream = stream;
    GenerationSession session(context_, options, prepared.job.prompts);
    std::string events;
    std::optional<Error> error;
    std::vector<int32_t> stopped;
    for (const RequestOutput& output : outputs) {
      const auto progress = session.on_output(0, output, events);
      error = progress.error ? progress.error : error;
      stopped.insert(stopped.end(), progress.stopped_choices.begin(),
                     progress.stopped_choices.end());
    }
    answer.error = error;
    answer.stopped = stopped;
    if (stream) {
      if (session.finished()) {
        session.append_stream_end(events);
      }
      answer.chunks = parse_events(events);
    } else {
      EXPECT_TRUE(events.empty());
      if (session.finished()) {
        answer.body = object(session.body());
      }
    }
  }
  return answer;
}

Answer SessionTest::run_chat(std::string_view fields, const std::vector<RequestOutput>& outputs) {
  std::string body = R"("chat_template_kwargs":{"enable_thinking":false})";
  if (fields.find("think") != std::string_view::npos) {
    body.clear();
  }
  body += body.empty() || fields.empty() ? "" : ",";
  const auto prepared = service_.chat(chat(body += fields));
  EXPECT_TRUE(prepared) << prepared.error().message;
  return run(*prepared, outputs);
}

StreamedChoice SessionTest::run_choice(std::string_view fields,
                                       const std::vector<RequestOutput>& outputs) {
  const Answer answer = run_chat(fields, outputs);
  EXPECT_FALSE(answer.error);
  StreamedChoice streamed = read_choice(answer.chunks, 0);
  expect_same(streamed, answer.body.at("choices").at(0).as_object());
  return streamed;
}

std::vector<json::Object> SessionTest::parse_events(std::string_view events) {
  std::vector<json::Object> chunks;
  bool done = false;
  while (!events.empty()) {
    const size_t end = events.find("\n\n");
    EXPECT_NE(end, std::string_view::npos);
    const std::string_view event = events.substr(0, end);
    events.remove_prefix(end + 2);
    EXPECT_FALSE(done);
    EXPECT_TRUE(event.starts_with("data: ")) << event;
    if (event == "data: [DONE]") {
      done = true;
      continue;
    }
    chunks.push_back(object(event.substr(6)));
  }
  return chunks;
}

std::string SessionTest::streamed_text(const Answer& answer, int64_t index) {
  std::string text;
  for (const json::Object& chunk : answer.chunks) {
    for (const json::Value& choice : chunk.at("choices").get_array()) {
      const json::Value* delta = choice.get_object().if_contains("delta");
      const json::Value* content = delta != nullptr ? delta->get_object().if_contains("content")
                                                    : choice.get_object().if_contains("text");
      if (choice.at("index") == index && content != nullptr) {
        text += content->get_string().c_str();
      }
    }
  }
  return text;
}

std::string SessionTest::whole_text(const Answer& answer, size_t index) {
  const json::Value& choice = answer.body.at("choices").at(index);
  const json::Value* text = choice.get_object().if_contains("text");
  return (text != nullptr ? *text : choice.at("message").at("content")).get_string().c_str();
}

json::Value SessionTest::finish_of(const Answer& answer, const char* key) {
  json::Value found;
  for (const json::Object& chunk : answer.chunks) {
    for (const json::Value& choice : chunk.at("choices").get_array()) {
      if (!choice.at("finish_reason").is_null()) {
        EXPECT_TRUE(found.is_null());
        if (const json::Value* delta = choice.get_object().if_contains("delta")) {
          EXPECT_TRUE(delta->get_object().empty());
        }
        found = choice.at(key);
      }
    }
  }
  return found;
}

}  // namespace deltaserve
