// Tool results and the calls that they answer: logged where ids are lost, refused on demand.
#include "api/tool_result_ids.h"

#include <gtest/gtest.h>

#include "api_fixture.h"

namespace deltaserve {
namespace {

using ToolResultIdsTest = ApiTest;

// A conversation with calls "a" and "b" and one result; `id` is the text of the result's id field.
std::string turn(std::string_view id) {
  const std::string call = R"(,"type":"function","function":{"name":"f","arguments":"{}"}})";
  return R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,)"
         R"("tool_calls":[{"id":"a")" +
         call + R"(,{"id":"b")" + call + R"(]},{"role":"tool",)" + std::string(id) +
         R"("content":"1"}]})";
}

TEST_F(ToolResultIdsTest, FindsTheFirstResultThatAnswersNoCall) {
  const auto found = [](const std::string& body) {
    return find_orphan_result(object(body).at("messages").as_array());
  };
  EXPECT_FALSE(found(turn(R"("tool_call_id":"a",)")));
  EXPECT_FALSE(found(turn(R"("tool_call_id":"b",)")));
  for (const char* id :
       {R"("tool_call_id":"c",)", R"("tool_call_id":"",)", "", R"("tool_call_id":null,)"}) {
    const std::optional<Error> error = found(turn(id));
    ASSERT_TRUE(error) << id;
    EXPECT_EQ(error->param, "messages[2].tool_call_id");
    EXPECT_EQ(error->code, ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(found(R"({"messages":[{"role":"tool","tool_call_id":"a","content":"early"}]})"));
}

TEST_F(ToolResultIdsTest, IsARemarkOrARefusal) {
  const auto lost = service_.chat(turn(R"("tool_call_id":"c",)"));
  ASSERT_TRUE(lost);
  EXPECT_NE(lost->job.remark.find("messages[2].tool_call_id"), std::string::npos);
  const auto good = service_.chat(turn(R"("tool_call_id":"a",)"));
  ASSERT_TRUE(good);
  EXPECT_EQ(good->job.remark, "");
  context_->chat.strict_tool_call_ids = true;
  EXPECT_EQ(chat_error(turn(R"("tool_call_id":"c",)")).param, "messages[2].tool_call_id");
  EXPECT_EQ(chat_error(turn("")).param, "messages[2].tool_call_id");
  EXPECT_TRUE(service_.chat(turn(R"("tool_call_id":"a",)")));
}

}  // namespace
}  // namespace deltaserve
