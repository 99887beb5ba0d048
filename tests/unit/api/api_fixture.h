// A serving context over the bundled model's tokenizer and template, and short-hands for bodies.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "api/api_service.h"
#include "api/serving_context.h"
#include "json/json.h"

namespace deltaserve {

// max_model_len 1000, model ids "tiny" and "alias", generation defaults of the bundled model.
class ApiTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

  void SetUp() override;

  static json::Object object(std::string_view text);
  // A chat body with one user message and more fields: chat(R"("n":2)").
  static std::string chat(std::string_view fields);
  static std::string completion(std::string_view fields);

  // The decoded prompt of a chat body.
  std::string prompt_of(std::string_view body) const;
  Error chat_error(std::string_view body) const;
  Error completion_error(std::string_view body) const;

  std::shared_ptr<ServingContext> context_;
  ApiService service_{"1.2.3"};

 private:
  static Tokenizer* tokenizer_;
  static ChatTemplate* chat_template_;
};

}  // namespace deltaserve
