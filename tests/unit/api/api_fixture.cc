// Loads tokenizer and template once for all tests.
#include "api_fixture.h"

#include <filesystem>

namespace deltaserve {

Tokenizer* ApiTest::tokenizer_ = nullptr;
ChatTemplate* ApiTest::chat_template_ = nullptr;

void ApiTest::SetUpTestSuite() {
  const std::filesystem::path directory =
      std::filesystem::path(DELTASERVE_SOURCE_DIR) / "models" / "tiny";
  auto tokenizer = Tokenizer::load(directory);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  tokenizer_ = tokenizer->release();
  auto chat_template = ChatTemplate::load(directory);
  ASSERT_TRUE(chat_template) << chat_template.error().message;
  chat_template_ = chat_template->release();
}

void ApiTest::TearDownTestSuite() {
  delete chat_template_;
  delete tokenizer_;
}

void ApiTest::SetUp() {
  context_ = std::make_shared<ServingContext>();
  context_->tokenizer = tokenizer_;
  context_->chat_template = chat_template_;
  context_->model_ids = {"tiny", "alias"};
  context_->max_model_len = 1000;
  context_->generation_config.temperature = 0.6;
  context_->generation_config.top_p = 0.95;
  context_->generation_config.top_k = 20;
  context_->eos_token_ids = {4002, 4000};
  context_->grammars = std::make_shared<GrammarStore>(*tokenizer_, context_->eos_token_ids);
  context_->created = 1700000000;
  service_.set_ready(context_);
}

json::Object ApiTest::object(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value->get_object();
}

std::string ApiTest::chat(std::string_view fields) {
  std::string body = R"({"messages":[{"role":"user","content":"hi"}])";
  body += fields.empty() ? "" : ",";
  body += fields;
  return body + "}";
}

std::string ApiTest::completion(std::string_view fields) {
  std::string body = R"({"prompt":"hi")";
  body += fields.empty() ? "" : ",";
  body += fields;
  return body + "}";
}

std::string ApiTest::prompt_of(std::string_view body) const {
  const auto prepared = service_.chat(body);
  EXPECT_TRUE(prepared) << prepared.error().message;
  return prepared ? context_->tokenizer->decode(prepared->job.requests[0].prompt_token_ids, false)
                  : "";
}

Error ApiTest::chat_error(std::string_view body) const {
  const auto prepared = service_.chat(body);
  EXPECT_FALSE(prepared) << body;
  return prepared ? Error{} : prepared.error();
}

Error ApiTest::completion_error(std::string_view body) const {
  const auto prepared = service_.completion(body);
  EXPECT_FALSE(prepared) << body;
  return prepared ? Error{} : prepared.error();
}

}  // namespace deltaserve
