// Requests that cannot be run are refused with the field to change.
#include "engine/request_check.h"

#include <gtest/gtest.h>

#include <limits>

namespace deltaserve {
namespace {

constexpr RequestLimits kLimits{.max_model_len = 100, .vocab_size = 50, .max_choices = 8};

Request good_request() {
  Request request;
  request.prompt_token_ids = std::vector<int32_t>(60, 49);
  request.sampling.max_tokens = 40;
  return request;
}

TEST(RequestCheck, AcceptsWhatJustFits) {
  EXPECT_TRUE(check_request(good_request(), kLimits).has_value());
}

TEST(RequestCheck, RefusesWhatExceedsTheContext) {
  for (const int64_t max_tokens : {int64_t{41}, std::numeric_limits<int64_t>::max()}) {
    Request request = good_request();
    request.sampling.max_tokens = max_tokens;
    const Result<void> result = check_request(request, kLimits);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(result.error().api_code, "context_length_exceeded");
    EXPECT_EQ(result.error().param, "max_tokens");
    EXPECT_NE(result.error().message.find("at most 40"), std::string::npos);
  }
  Request request = good_request();
  request.prompt_token_ids.resize(100);
  request.sampling.max_tokens = 1;
  const Result<void> result = check_request(request, kLimits);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().api_code, "context_length_exceeded");
  EXPECT_EQ(result.error().param, "prompt");
}

void expect_refused(const Request& request, const std::string& param) {
  const Result<void> result = check_request(request, kLimits);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().param, param);
}

TEST(RequestCheck, RefusesWhatWouldIndexOutsideTheVocabulary) {
  for (const int32_t token : {-1, 50, std::numeric_limits<int32_t>::max()}) {
    Request request = good_request();
    request.prompt_token_ids[3] = token;
    expect_refused(request, "prompt");
    request = good_request();
    request.sampling.logit_bias = {{.token = token, .bias = 1.0F}};
    expect_refused(request, "logit_bias");
  }
}

TEST(RequestCheck, RefusesEmptyWork) {
  Request request = good_request();
  request.prompt_token_ids.clear();
  expect_refused(request, "prompt");
  request = good_request();
  request.sampling.max_tokens = 0;
  expect_refused(request, "max_tokens");
  for (const int32_t n : {0, -3, 9}) {
    request = good_request();
    request.sampling.n = n;
    expect_refused(request, "n");
  }
}

}  // namespace
}  // namespace deltaserve
