// Schemas to types and model text to typed JSON.
#include <gtest/gtest.h>

#include "chat/tool_set.h"

namespace deltaserve {
namespace {

// A tool whose one parameter `p` has the schema, beside definitions to refer to.
ToolSet tool_with(const std::string& schema) {
  const auto tools = json::parse(
      R"([{"name":"f","parameters":{"type":"object","properties":{"p":)" + schema + R"(},
          "$defs":{"Color":{"enum":["red","green"]},"Loop":{"$ref":"#/$defs/Loop"},
                   "Opt":{"anyOf":[{"$ref":"#/definitions/Int"},{"type":"null"}]}},
          "definitions":{"Int":{"type":"integer"}}}}])");
  EXPECT_TRUE(tools) << schema;
  return ToolSet::from_json(tools->get_array()).value();
}

std::string convert(const std::string& schema, const std::string& text) {
  return argument_json(text, tool_with(schema).find("f")->types("p"));
}

struct Row {
  const char* schema;
  const char* text;
  const char* json;
};

TEST(ToolArguments, Table) {
  const Row rows[] = {
      {R"({"type":"string"})", "true", R"("true")"},
      {R"({"type":"string"})", " 1 ", R"(" 1 ")"},
      {R"({"type":"string"})", "None", R"("None")"},
      {R"({"type":"string","nullable":true})", "null", "null"},
      {R"({"type":["string","null"]})", "None", "null"},
      {R"({"type":"integer"})", "42", "42"},
      {R"({"type":"integer"})", "-7\n", "-7"},
      {R"({"type":"integer"})", "12345678901234567890123", "12345678901234567890123"},
      {R"({"type":"integer"})", "null", "null"},
      {R"({"type":"integer"})", "four", R"("four")"},
      {R"({"type":"integer"})", "007", R"("007")"},
      {R"({"type":"number"})", "1.50", "1.50"},
      {R"({"type":"number"})", "1e3", "1e3"},
      {R"({"type":"number"})", "NaN", R"("NaN")"},
      {R"({"type":"number"})", "true", R"("true")"},
      {R"({"type":"boolean"})", "True", "true"},
      {R"({"type":"boolean"})", "FALSE", "false"},
      {R"({"type":"boolean"})", "maybe", R"("maybe")"},
      {R"({"type":"boolean"})", "1", R"("1")"},
      {R"({"type":["boolean","null"]})", "false", "false"},
      {R"({"type":"array","items":{"type":"string"}})", "[\"a\", 1]", "[\"a\", 1]"},
      {R"({"type":"array"})", "[1, 2", R"("[1, 2")"},
      {R"({"type":"object"})", "{\n \"a\": {}}", "{\n \"a\": {}}"},
      {R"({"type":"object"})", "{'a': 1}", R"("{'a': 1}")"},
      {R"({"type":"object"})", "42", R"("42")"},
      {R"({"properties":{"x":{}}})", "{}", "{}"},
      {R"({"items":{}})", "[]", "[]"},
      {R"({"$ref":"#/$defs/Color"})", "red", R"("red")"},
      {R"({"$ref":"#/$defs/Color"})", "42", R"("42")"},
      {R"({"$ref":"#/$defs/Opt"})", "None", "null"},
      {R"({"$ref":"#/$defs/Opt"})", "5", "5"},
      {R"({"$ref":"#/$defs/Opt"})", "five", R"("five")"},
      {R"({"$ref":"#/$defs/Loop"})", "5", "5"},
      {R"({"$ref":"#/$defs/Missing"})", "5", "5"},
      {R"({"anyOf":[{"type":"string"},{"type":"object"}]})", "{\"a\":1}", "{\"a\":1}"},
      {R"({"anyOf":[{"type":"string"},{"type":"integer"}]})", "null", R"("null")"},
      {R"({"oneOf":[{"type":"string"},{"type":"integer"}]})", "5", "5"},
      {R"({"allOf":[{"type":["string","integer"]},{"type":["integer","null"]}]})", "5", "5"},
      {R"({"allOf":[{"$ref":"#/definitions/Int"}],"nullable":true})", "None", "null"},
      {R"({"enum":[1,2,null]})", "2", "2"},
      {R"({"enum":["1","2"]})", "2", R"("2")"},
      {R"({"const":true})", "True", "true"},
      {"{}", "{\"a\":[]}", "{\"a\":[]}"},
      {"{}", "plain", R"("plain")"},
      {"{}", "\"quoted\"", R"("\"quoted\"")"},
      {"true", "3", "3"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(convert(row.schema, row.text), row.json) << row.schema << " <- " << row.text;
  }
}

TEST(ToolArguments, UndeclaredParametersAreStrings) {
  const ToolSet tools = tool_with("{}");
  EXPECT_TRUE(tools.find("f")->types("other").is_plain_string());
  EXPECT_EQ(tools.find("g"), nullptr);
}

TEST(ToolArguments, AdditionalPropertiesHaveTypes) {
  const auto tools = json::parse(
      R"([{"type":"function","function":{"name":"f","parameters":{
          "additionalProperties":{"type":"integer"}}}}])");
  const auto set = ToolSet::from_json(tools->get_array());
  EXPECT_EQ(argument_json("3", set->find("f")->types("any")), "3");
}

TEST(ToolArguments, PropertiesBehindReferences) {
  const auto tools = json::parse(
      R"([{"name":"f","parameters":{"$ref":"#/$defs/A","$defs":{"A":{"allOf":[
          {"properties":{"x":{"type":"boolean"}}},{"properties":{"y":{"type":"null"}}}]}}}}])");
  const auto set = ToolSet::from_json(tools->get_array());
  EXPECT_TRUE(set->find("f")->types("x").boolean);
  EXPECT_TRUE(set->find("f")->types("y").null);
}

TEST(ToolArguments, ToolsNeedNames) {
  for (const char* text : {R"([{"type":"function"}])", R"([{"function":{"name":""}}])", "[3]"}) {
    const auto set = ToolSet::from_json(json::parse(text)->get_array());
    ASSERT_FALSE(set) << text;
    EXPECT_EQ(set.error().param, "tools[0]");
  }
}

}  // namespace
}  // namespace deltaserve
