// What a request may ask of the form of its answer, and the grammar that comes of it.
#include "api/output_rule.h"

#include <fmt/format.h>

#include "api_fixture.h"

namespace deltaserve {
namespace {

class OutputRuleTest : public ApiTest {
 protected:
  // Whether the answer may be `text`, which begins where the grammar does.
  bool allows(const Request& request, std::string_view text) {
    Grammar& grammar = *request.sampling.grammar->grammar;
    Grammar::State state = grammar.start();
    for (const int32_t token : context_->tokenizer->encode(text)) {
      if (state == Grammar::kDead) return false;
      state = grammar.advance(state, token);
    }
    return state != Grammar::kDead && grammar.may_end(state);
  }

  Request request_of(std::string_view fields) {
    auto prepared = service_.chat(chat(fields));
    EXPECT_TRUE(prepared) << prepared.error().message;
    return prepared ? std::move(prepared->job.requests.front()) : Request();
  }

  Error error_of(std::string_view fields) {
    const auto prepared = service_.chat(chat(fields));
    EXPECT_FALSE(prepared) << fields;
    return prepared ? Error{} : prepared.error();
  }
};

constexpr const char* kOff = R"("enable_thinking":false,)";
constexpr const char* kTools =
    R"("tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object",
       "properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}},
       {"type":"function","function":{"name":"now"}}],)";

TEST_F(OutputRuleTest, EverySpelling) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("response_format":{"type":"json_object"})", R"({"a":1})"},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"integer"}}})",
       "-12"},
      {R"("structured_outputs":{"json":{"type":"boolean"}})", "true"},
      {R"("structured_outputs":{"json":"{\"type\":\"boolean\"}"})", "false"},
      {R"("structured_outputs":{"regex":"[a-c]+"})", "abc"},
      {R"("structured_outputs":{"choice":["yes","no"]})", "no"},
      {R"("structured_outputs":{"grammar":"root ::= \"x\" root | \"y\""})", "xxy"},
      {R"("structured_outputs":{"json_object":true})", "{}"},
      {R"("guided_json":{"type":"null"})", "null"},
      {R"("guided_regex":"\\d{3}")", "123"},
      {R"("guided_choice":["a b"])", "a b"},
      {R"("guided_grammar":"start: \"z\"+")", "zz"},
  };
  for (const auto& [fields, text] : cases) {
    const Request request = request_of(std::string(kOff) + fields);
    ASSERT_TRUE(request.sampling.grammar) << fields;
    EXPECT_FALSE(request.sampling.grammar->after_token) << fields;
    EXPECT_TRUE(allows(request, text)) << fields;
    EXPECT_FALSE(allows(request, "Sure!")) << fields;
  }
}

TEST_F(OutputRuleTest, BeginsBehindTheThought) {
  const Request request = request_of(R"("response_format":{"type":"json_object"})");
  ASSERT_TRUE(request.sampling.grammar);
  EXPECT_EQ(request.sampling.grammar->after_token, context_->tokenizer->token_to_id("</think>"));
  EXPECT_TRUE(allows(request, "\n\n{\"a\": 1}"));
  EXPECT_FALSE(request_of(R"("response_format":{"type":"text"})").sampling.grammar);
}

TEST_F(OutputRuleTest, SameRuleSameGrammar) {
  const char* fields = R"("response_format":{"type":"json_object"})";
  const Request first = request_of(fields);
  const Request second = request_of(fields);
  EXPECT_EQ(first.sampling.grammar->grammar, second.sampling.grammar->grammar);
}

TEST_F(OutputRuleTest, Errors) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("response_format":{"type":"json_schema","json_schema":{"schema":{"type":"strng"}}})",
       "response_format.json_schema.schema"},
      {R"("structured_outputs":{"regex":"("})", "structured_outputs.regex"},
      {R"("structured_outputs":{"regex":7})", "structured_outputs.regex"},
      {R"("structured_outputs":{"choice":[]})", "structured_outputs.choice"},
      {R"("structured_outputs":{"choice":["a",1]})", "structured_outputs.choice"},
      {R"("structured_outputs":{"structural_tag":{}})", "structured_outputs.structural_tag"},
      {R"("structured_outputs":{"json":"{"})", "structured_outputs.json"},
      {R"("guided_grammar":"root ::= root")", "guided_grammar"},
      {R"("structural_tag":{})", "structural_tag"},
      {R"("guided_regex":"a","response_format":{"type":"json_object"})", "guided_regex"},
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("tools":[],"tool_choice":{"type":"function","function":{"name":"f"}})", "tool_choice"},
      {R"("tool_choice":{"type":"function"})", "tool_choice.type"},
      {R"("tool_choice":{"type":"function","function":{}})", "tool_choice.function.name"},
      {R"("tool_choice":{"type":"function","function":{"name":""}})", "tool_choice.function.name"},
      {R"("tool_choice":{"type":"function","function":{"name":7}})", "tool_choice.function.name"},
      {R"("tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":
          {"type":"object","properties":{"a":{"not":{}}}}}}])",
       "tools"},
  };
  for (const auto& [fields, param] : cases) {
    EXPECT_EQ(error_of(fields).param, param) << fields;
  }
}

TEST_F(OutputRuleTest, RequiredCalls) {
  const Request request = request_of(std::string(kOff) + kTools + R"("tool_choice":"required")");
  ASSERT_TRUE(request.sampling.grammar);
  const std::string weather =
      "<tool_call>\n<function=get_weather>\n<parameter=city>\nSt. \"Ulm\" {}\n</parameter>\n"
      "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>";
  const std::string now = "<tool_call>\n<function=now>\n</function>\n</tool_call>";
  EXPECT_TRUE(allows(request, weather));
  EXPECT_TRUE(allows(request, now));
  EXPECT_TRUE(allows(request, weather + "\n" + now));
  EXPECT_FALSE(allows(request, "It is sunny."));
  EXPECT_FALSE(allows(request, "<tool_call>\n<function=get_weather>\n</function>\n</tool_call>"));
  EXPECT_FALSE(allows(request, "<tool_call>\n<function=other>\n</function>\n</tool_call>"));
  EXPECT_FALSE(allows(request,
                      "<tool_call>\n<function=get_weather>\n<parameter=city>\nx\n</parameter>\n"
                      "<parameter=days>\nthree\n</parameter>\n</function>\n</tool_call>"));
  const Request single = request_of(std::string(kOff) + kTools +
                                    R"("tool_choice":"required","parallel_tool_calls":false)");
  EXPECT_FALSE(allows(single, now + "\n" + now));
  const Request named =
      request_of(std::string(kOff) + kTools +
                 R"("tool_choice":{"type":"function","function":{"name":"now"}})");
  EXPECT_TRUE(allows(named, now));
  EXPECT_FALSE(allows(named, weather));
}

// OpenAI's `strict` is what promises arguments by the schema.
TEST_F(OutputRuleTest, RequiredCallsOfSchemasThatCannotBeKept) {
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"f",%
      "parameters":{"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}}}},
      {"type":"function","function":{"name":"g","parameters":{"type":"object","properties":
      {"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}}}],
      "tool_choice":"required")";
  const auto with = [&](const std::string& strict) {
    std::string fields = std::string(kOff) + tools;
    return fields.replace(fields.find('%'), 1, strict);
  };
  for (const char* strict : {"", "\"strict\":false,"}) {
    const Request request = request_of(with(strict));
    ASSERT_TRUE(request.sampling.grammar);
    const auto call = [&](const std::string& name, const std::string& value) {
      return "<tool_call>\n<function=" + name + value + "\n</parameter>\n</function>\n</tool_call>";
    };
    EXPECT_TRUE(allows(request, call("f>\n<parameter=a>\n", "[1, 1]")));
    EXPECT_TRUE(allows(request, call("f>\n<parameter=b>\n", "any")));
    EXPECT_TRUE(allows(request, call("g>\n<parameter=n>\n", "3")));
    EXPECT_FALSE(allows(request, call("g>\n<parameter=n>\n", "any"))) << "others keep theirs";
    EXPECT_FALSE(allows(request, "No call."));
  }
  EXPECT_EQ(error_of(with("\"strict\":true,")).param, "tools");
}

TEST_F(OutputRuleTest, StrictToolsLeaveTextFree) {
  const Request request =
      request_of(std::string(kOff) +
                 R"("tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":
         {"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}},
         {"type":"function","function":{"name":"g"}}])");
  ASSERT_TRUE(request.sampling.grammar);
  const std::string good =
      "<tool_call>\n<function=f>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>";
  EXPECT_TRUE(allows(request, "Just text, no call."));
  EXPECT_TRUE(allows(request, "I'll look. " + good));
  EXPECT_FALSE(allows(request,
                      "<tool_call>\n<function=f>\n<parameter=n>\none\n</parameter>\n</function>\n"
                      "</tool_call>"));
  EXPECT_TRUE(allows(request,
                     "<tool_call>\n<function=g>\n<parameter=any>\none\n</parameter>\n</function>\n"
                     "</tool_call>"));
  EXPECT_FALSE(request_of(std::string(kOff) + kTools + R"("n":1)").sampling.grammar)
      << "tools that are not strict do not limit the answer";
}

// One call of a strict tool `f` whose parameters are `schema`.
class StrictCallTest : public OutputRuleTest {
 protected:
  static std::string fields(std::string_view schema) {
    return fmt::format(R"({}"tool_choice":"required","tools":[{{"type":"function","function":
        {{"name":"f","strict":true,"parameters":{}}}}}])",
                       kOff, schema);
  }
  static std::string call(std::string_view key, std::string_view value) {
    return fmt::format(
        "<tool_call>\n<function=f>\n<parameter={}>\n{}\n</parameter>\n</function>\n</tool_call>",
        key, value);
  }
};

TEST_F(StrictCallTest, ValuesKeepTheirTypesAndLimits) {
  const Request request = request_of(fields(
      R"({"type":"object","properties":{"v":{"enum":[1,"a",2.5,30,null],"type":["integer","string"],
          "maximum":5}},"required":["v"]})"));
  EXPECT_TRUE(allows(request, call("v", "1")));
  EXPECT_TRUE(allows(request, call("v", "a")));
  for (const char* value : {"2.5", "30", "null", "b"}) {
    EXPECT_FALSE(allows(request, call("v", value))) << value;
  }
}

// The parser of calls reads "5" as a number where numbers are allowed.
TEST_F(StrictCallTest, StringsAreNotTakenForOtherTypes) {
  const Request request = request_of(fields(
      R"({"type":"object","properties":{"v":{"anyOf":[{"type":"string","minLength":1},
          {"type":"integer","minimum":10},{"type":"array","items":{"type":"null"}},
          {"const":true}]}},"required":["v"]})"));
  for (const char* value : {"12", "[null]", "true", "text", "5 apples", "x[1]", "null"}) {
    EXPECT_TRUE(allows(request, call("v", value))) << value;
  }
  for (const char* value : {"5", " 5 ", "-1e3", "[1]", " {}", "False", ""}) {
    EXPECT_FALSE(allows(request, call("v", value))) << value;
  }
  const Request plain = request_of(
      fields(R"({"type":"object","properties":{"v":{"type":"string"}},"required":["v"]})"));
  for (const char* value : {"5", "[1]", "null"}) EXPECT_TRUE(allows(plain, call("v", value)));
  const Request nullable = request_of(fields(
      R"({"type":"object","properties":{"v":{"type":["string","null"],"pattern":"^[a-z]*$"}}})"));
  EXPECT_TRUE(allows(nullable, call("v", "null")));
  EXPECT_FALSE(allows(nullable, call("v", "None")));
}

TEST_F(StrictCallTest, OtherArgumentsFollowTheirSchema) {
  const Request request = request_of(fields(
      R"({"type":"object","properties":{"a":{"type":"boolean"}},
          "additionalProperties":{"type":"integer"}})"));
  EXPECT_TRUE(allows(request, call("a", "true")));
  EXPECT_TRUE(allows(request, call("b", "7")));
  EXPECT_FALSE(allows(request, call("b", "seven")));
  EXPECT_FALSE(allows(request, call("a", "7"))) << "a declared parameter is no other one";
  const Request any = request_of(fields(R"({"type":"object","additionalProperties":true,
                             "properties":{"c":{"description":"anything"}}})"));
  EXPECT_TRUE(allows(any, call("b", "seven")));
  EXPECT_TRUE(allows(any, call("c", "[1")));
}

TEST_F(StrictCallTest, RefusesWhatItsSyntaxCannotSay) {
  for (const char* name : {"a>b", "a\\nb", ""}) {
    const Error error =
        error_of(fields(fmt::format(R"({{"type":"object","properties":{{"{}":{{}}}}}})", name)));
    EXPECT_EQ(error.param, "tools") << name;
    EXPECT_NE(error.message.find("'f'"), std::string::npos) << error.message;
  }
  const Error error = error_of(fields(R"({"type":"object","minProperties":1})"));
  EXPECT_NE(error.message.find("'minProperties'"), std::string::npos) << error.message;
}

TEST_F(OutputRuleTest, TooMuchForACompilerIsAnError) {
  const Error error = error_of(
      R"("structured_outputs":{"json":{"type":"integer","allOf":[{"multipleOf":9973},
         {"multipleOf":9967},{"multipleOf":9949}]}})");
  EXPECT_EQ(error.param, "structured_outputs.json");
  EXPECT_NE(error.message.find("too complex"), std::string::npos) << error.message;
}

TEST_F(OutputRuleTest, AFormatBesideToolsAllowsBoth) {
  const Request request =
      request_of(std::string(kOff) + kTools + R"("response_format":{"type":"json_object"})");
  EXPECT_TRUE(allows(request, R"({"a":1})"));
  EXPECT_TRUE(allows(request, "<tool_call>\n<function=now>\n</function>\n</tool_call>"));
  EXPECT_FALSE(allows(request, "text"));
}

}  // namespace
}  // namespace deltaserve
