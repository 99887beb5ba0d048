// A running server over a FakeEngine that repeats "word " and ends, with the bundled tokenizer and
// template.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "api/api_service.h"
#include "fake_engine.h"
#include "json/json.h"
#include "raw_client.h"
#include "server/http_server.h"

namespace deltaserve {

class ServerTest : public ::testing::Test {
 protected:
  ServerTest();
  ~ServerTest() override;

  static void SetUpTestSuite();
  static void TearDownTestSuite();

  // Starts the server with options_; ready unless told otherwise.
  void start(bool ready = true);
  void set_ready();
  void set_ready_with(Engine& engine, int64_t max_model_len);

  // The whole life of one request on a connection of its own.
  RawResponse request(std::string_view method, std::string_view path, std::string_view body = "",
                      std::string_view headers = "") const;
  RawResponse chat(std::string_view fields = "") const;
  // The text of a chat answer, streamed or not.
  static std::string text_of(const RawResponse& response);
  static std::string chat_body(std::string_view fields = "");
  static std::string error_code_of(const RawResponse& response);
  // A good request still works.
  void expect_alive() const;

  ServerOptions options_;
  std::string answer_ = "one two three four five";
  std::atomic<int64_t> max_repeats_ = 1;  // of the answer, before eos
  std::unique_ptr<FakeEngine> engine_;
  ApiService service_{"9.9.9"};
  std::unique_ptr<HttpServer> server_;

 private:
  static Tokenizer* tokenizer_;
  static ChatTemplate* chat_template_;
};

}  // namespace deltaserve
