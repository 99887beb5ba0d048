// Endpoints, keys, origins and error bodies.
#include <gtest/gtest.h>

#include "server_fixture.h"

namespace deltaserve {
namespace {

using ServerRoutesTest = ServerTest;

TEST_F(ServerRoutesTest, AnswersTheSmallEndpoints) {
  start();
  EXPECT_EQ(request("GET", "/health").status, 200);
  EXPECT_EQ(request("GET", "/health/").status, 200);
  EXPECT_EQ(request("GET", "/version?x=1").body, R"({"version":"9.9.9"})");
  const RawResponse models = request("GET", "/v1/models");
  EXPECT_EQ(models.status, 200);
  EXPECT_EQ(models.headers.at("content-type"), "application/json");
  EXPECT_NE(models.body.find(R"("max_model_len":100000)"), std::string::npos);
  EXPECT_EQ(request("GET", "/v1/models/tiny").status, 200);
  EXPECT_EQ(request("GET", "/v1/models/t%69ny").status, 200);
  const RawResponse unknown = request("GET", "/v1/models/some/other");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(error_code_of(unknown), "model_not_found");
  EXPECT_EQ(request("GET", "/ping").status, 200);
  EXPECT_EQ(request("HEAD", "/ping").status, 200);
  EXPECT_EQ(request("GET", "/get_model_info").body,
            R"({"model_path":"tiny","tokenizer_path":"tiny","is_generation":true,)"
            R"("max_model_len":100000})");
  const auto info = json::parse(request("GET", "/get_server_info").body);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->at("version").get_string(), "9.9.9");
  EXPECT_EQ(info->at("num_running_requests").to_number<int64_t>(), 0);
  const RawResponse tokens = request("POST", "/tokenize", R"({"prompt":"hello"})");
  EXPECT_EQ(tokens.status, 200);
  EXPECT_EQ(request("POST", "/detokenize", tokens.body).body, R"({"prompt":"hello"})");
}

TEST_F(ServerRoutesTest, SaysWhatIsWrongWithARequest) {
  start();
  const RawResponse missing = request("POST", "/v1/x", "{}");
  EXPECT_EQ(missing.status, 404);
  error_code_of(missing);
  const RawResponse method = request("GET", "/v1/chat/completions");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.headers.at("allow"), "POST, OPTIONS");
  error_code_of(method);
  EXPECT_EQ(request("DELETE", "/v1/models").headers.at("allow"), "GET, HEAD, OPTIONS");
  const RawResponse media =
      request("POST", "/v1/completions", "", "Content-Type: text/plain\r\nContent-Length: 0\r\n");
  EXPECT_EQ(media.status, 415);
  EXPECT_EQ(request("POST", "/v1/completions", "{}", "Content-Type: Text/HTML\r\n").status, 415);
  EXPECT_EQ(request("POST", "/v1/completions", "{}", "Content-Encoding: gzip\r\n").status, 415);
  EXPECT_EQ(request("POST", "/v1/completions", "", "Content-Length: 0\r\n").status, 400);
  const RawResponse invalid = chat(R"("top_p":1.1)");
  EXPECT_EQ(invalid.status, 400);
  EXPECT_NE(invalid.body.find(R"("param":"top_p")"), std::string::npos);
  expect_alive();
}

TEST_F(ServerRoutesTest, OverlongRequestsAreRefusedBeforeAStreamBegins) {
  start();
  const RawResponse response = chat(R"("stream":true,"max_tokens":100001)");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.headers.at("content-type"), "application/json");
  EXPECT_EQ(error_code_of(response), "context_length_exceeded");
}

TEST_F(ServerRoutesTest, AnswersWhileLoading) {
  start(false);
  EXPECT_EQ(request("GET", "/version").status, 200);
  EXPECT_EQ(request("GET", "/metrics").status, 200);
  for (const char* path :
       {"/health", "/ping", "/v1/models", "/get_model_info", "/get_server_info"}) {
    const RawResponse response = request("GET", path);
    EXPECT_EQ(response.status, 503) << path;
    EXPECT_TRUE(response.headers.contains("retry-after"));
    error_code_of(response);
  }
  EXPECT_EQ(chat().status, 503);
  set_ready();
  EXPECT_EQ(request("GET", "/health").status, 200);
  expect_alive();
}

TEST_F(ServerRoutesTest, AsksForAKey) {
  options_.api_keys = {"first", "second"};
  start();
  const RawResponse none = chat();
  EXPECT_EQ(none.status, 401);
  EXPECT_EQ(none.headers.at("www-authenticate"), "Bearer");
  EXPECT_EQ(error_code_of(none), "invalid_api_key");
  const auto with = [&](const std::string& value) {
    return request("POST", "/v1/chat/completions", chat_body(), "Authorization: " + value + "\r\n")
        .status;
  };
  EXPECT_EQ(with("Bearer wrong"), 401);
  EXPECT_EQ(with("Bearer firs"), 401);
  EXPECT_EQ(with("Bearer firstfirst"), 401);
  EXPECT_EQ(with("Bearer "), 401);
  EXPECT_EQ(with("first"), 401);
  EXPECT_EQ(with("Basic first"), 401);
  EXPECT_EQ(request("POST", "/v1/chat/completions", chat_body(), "x-api-key: second\r\n").status,
            200);
  EXPECT_EQ(request("POST", "/v1/chat/completions", chat_body(), "x-api-key: wrong\r\n").status,
            401);
  EXPECT_EQ(with("Bearer first"), 200);
  EXPECT_EQ(with("bearer second"), 200);
  EXPECT_EQ(request("GET", "/v1/nowhere").status, 401);
  EXPECT_EQ(request("GET", "/metrics").status, 401);
  EXPECT_EQ(request("GET", "/health").status, 200);
  EXPECT_EQ(request("GET", "/version").status, 200);
}

TEST_F(ServerRoutesTest, RefusesWithoutAKeyBeforeTheBodyComes) {
  options_.api_keys = {"k"};
  start();
  RawClient client(server_->port());
  client.send("POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 50000000\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 401);
}

TEST_F(ServerRoutesTest, LetsOtherOriginsIn) {
  options_.api_keys = {"k"};
  start();
  const RawResponse preflight =
      request("OPTIONS", "/v1/chat/completions", "",
              "Origin: http://page\r\nAccess-Control-Request-Method: POST\r\n"
              "Access-Control-Request-Headers: authorization,x-stainless-os\r\n");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.headers.at("access-control-allow-origin"), "*");
  const std::string allowed = preflight.headers.at("access-control-allow-headers");
  EXPECT_NE(allowed.find("Authorization"), std::string::npos);
  EXPECT_NE(allowed.find("x-stainless-os"), std::string::npos);
  for (const char* stream : {"", R"("stream":true)"}) {
    const RawResponse response = request("POST", "/v1/chat/completions", chat_body(stream),
                                         "Origin: http://page\r\nAuthorization: Bearer k\r\n");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.headers.at("access-control-allow-origin"), "*");
    EXPECT_NE(response.headers.at("access-control-expose-headers").find("X-Request-Id"),
              std::string::npos);
  }
  const RawResponse refused = request("GET", "/v1/models", "", "Origin: http://page\r\n");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.headers.at("access-control-allow-origin"), "*");
}

TEST_F(ServerRoutesTest, NamedOriginsOnly) {
  options_.allowed_origins = {"http://good"};
  start();
  const RawResponse good = request("GET", "/health", "", "Origin: http://good\r\n");
  EXPECT_EQ(good.headers.at("access-control-allow-origin"), "http://good");
  EXPECT_EQ(good.headers.at("vary"), "Origin");
  EXPECT_FALSE(request("GET", "/health", "", "Origin: http://bad\r\n")
                   .headers.contains("access-control-allow-origin"));
}

TEST_F(ServerRoutesTest, MetricsCountWhatHappened) {
  start();
  expect_alive();
  EXPECT_EQ(chat(R"("top_p":7)").status, 400);
  const RawResponse metrics = request("GET", "/metrics");
  EXPECT_TRUE(metrics.headers.at("content-type").starts_with("text/plain; version=0.0.4"));
  for (const char* line :
       {"vllm:num_requests_running{engine=\"0\",model_name=\"tiny\"} 0",
        "vllm:e2e_request_latency_seconds_count{engine=\"0\",model_name=\"tiny\"} 1",
        "vllm:time_to_first_token_seconds_bucket{engine=\"0\",model_name=\"tiny\",le=\"+Inf\"} 1",
        "vllm:request_success_total{engine=\"0\",model_name=\"tiny\",finished_reason=\"stop\"}",
        "deltaserve:http_responses_total{route=\"/v1/chat/completions\",status=\"200\"} 1",
        "deltaserve:http_responses_total{route=\"/v1/chat/completions\",status=\"400\"} 1",
        "# TYPE vllm:request_generation_tokens histogram"}) {
    EXPECT_NE(metrics.body.find(line), std::string::npos) << line << "\n" << metrics.body;
  }
}

}  // namespace
}  // namespace deltaserve
