// Starts and stops in the order that HttpServer asks for.
#include "server_fixture.h"

#include <spdlog/spdlog.h>

#include <filesystem>

namespace deltaserve {

Tokenizer* ServerTest::tokenizer_ = nullptr;
ChatTemplate* ServerTest::chat_template_ = nullptr;

// The logger is made here, before a thread can log: inside the distribution's libspdlog, which is
// not instrumented, ThreadSanitizer does not see the guard of its first use.
ServerTest::ServerTest() {
  spdlog::default_logger_raw();
  options_.port = 0;
}

ServerTest::~ServerTest() {
  if (server_) {
    server_->stop(0.0);
  }
  if (engine_) {
    engine_->stop(0.0);
  }
}

void ServerTest::SetUpTestSuite() {
  const std::filesystem::path directory =
      std::filesystem::path(DELTASERVE_SOURCE_DIR) / "models" / "tiny";
  auto tokenizer = Tokenizer::load(directory);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  tokenizer_ = tokenizer->release();
  auto chat_template = ChatTemplate::load(directory);
  ASSERT_TRUE(chat_template) << chat_template.error().message;
  chat_template_ = chat_template->release();
}

void ServerTest::TearDownTestSuite() {
  delete chat_template_;
  delete tokenizer_;
}

void ServerTest::start(bool ready) {
  server_ = std::make_unique<HttpServer>(options_, service_);
  const auto started = server_->start();
  ASSERT_TRUE(started) << started.error().message;
  if (ready) {
    set_ready();
  }
}

void ServerTest::set_ready() {
  engine_ = std::make_unique<FakeEngine>([this](const Request&, int32_t) {
    std::string text;
    for (int64_t i = 0; i < max_repeats_; ++i) {
      text += answer_ + " ";
    }
    text.pop_back();
    std::vector<int32_t> ids = tokenizer_->encode(text);
    ids.push_back(FakeEngine::kEosToken);
    return ids;
  });
  engine_->start(server_->output_sink());
  set_ready_with(*engine_, 100000);
}

void ServerTest::set_ready_with(Engine& engine, int64_t max_model_len) {
  auto context = std::make_shared<ServingContext>();
  context->tokenizer = tokenizer_;
  context->chat_template = chat_template_;
  context->engine = &engine;
  context->model_ids = {"tiny"};
  context->max_model_len = max_model_len;
  context->eos_token_ids = {FakeEngine::kEosToken};
  context->grammars = std::make_shared<GrammarStore>(*tokenizer_, context->eos_token_ids);
  service_.set_ready(std::move(context));
}

std::string ServerTest::chat_body(std::string_view fields) {
  return R"({"enable_thinking":false,"messages":[{"role":"user","content":"hi"}])" +
         std::string(fields.empty() ? "" : ",") + std::string(fields) + "}";
}

RawResponse ServerTest::request(std::string_view method, std::string_view path,
                                std::string_view body, std::string_view headers) const {
  RawClient client(server_->port());
  client.send(http_request(method, path, body, headers));
  return client.read_response(method == "HEAD");
}

RawResponse ServerTest::chat(std::string_view fields) const {
  return request("POST", "/v1/chat/completions", chat_body(fields));
}

std::string ServerTest::text_of(const RawResponse& response) {
  if (response.body.starts_with("{")) {
    const auto body = json::parse(response.body);
    EXPECT_TRUE(body) << response.body;
    return body->at("choices").at(0).at("message").at("content").get_string().c_str();
  }
  std::string text;
  size_t line = 0;
  while ((line = response.body.find("data: {", line)) != std::string::npos) {
    const size_t end = response.body.find("\n\n", line);
    const auto chunk =
        json::parse(std::string_view(response.body).substr(line + 6, end - line - 6));
    EXPECT_TRUE(chunk);
    for (const json::Value& choice : chunk->at("choices").get_array()) {
      if (const json::Value* content = choice.at("delta").get_object().if_contains("content")) {
        text += content->get_string().c_str();
      }
    }
    line = end;
  }
  return text;
}

std::string ServerTest::error_code_of(const RawResponse& response) {
  const auto body = json::parse(response.body);
  EXPECT_TRUE(body) << response.body;
  const json::Value& error = body->at("error");
  EXPECT_TRUE(error.at("message").is_string());
  EXPECT_TRUE(error.at("type").is_string());
  return error.at("code").is_null() ? "" : error.at("code").get_string().c_str();
}

void ServerTest::expect_alive() const {
  const RawResponse response = chat(R"("max_tokens":50)");
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(text_of(response), answer_);
}

}  // namespace deltaserve
