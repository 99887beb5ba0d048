// The public face: compiling, rendering, errors as values, origins, limits, loading from files.
#include "chat/chat_template.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace deltaserve {
namespace {

json::Object object_of(std::string_view text) {
  Result<json::Value> value = json::parse(text);
  EXPECT_TRUE(value && value->is_object()) << text;
  return value->get_object();
}

std::string render(std::string_view source, std::string_view variables = "{}") {
  const auto compiled = ChatTemplate::compile(source);
  if (!compiled) {
    return "compile error: " + compiled.error().message;
  }
  const auto prompt = (*compiled)->render(object_of(variables));
  return prompt ? prompt->text : "error: " + prompt.error().message;
}

// The stretches of request text, in brackets.
std::string marked(std::string_view source, std::string_view variables) {
  const auto compiled = ChatTemplate::compile(source);
  EXPECT_TRUE(compiled) << source;
  const auto prompt = (*compiled)->render(object_of(variables));
  EXPECT_TRUE(prompt) << prompt.error().message;
  std::string out;
  size_t end = 0;
  bool previous = false;
  for (const RenderedPrompt::Span& span : prompt->spans) {
    EXPECT_EQ(span.begin, end);
    EXPECT_LT(span.begin, span.end);
    EXPECT_TRUE(end == 0 || previous != span.from_template);
    const std::string text = prompt->text.substr(span.begin, span.end - span.begin);
    out += span.from_template ? text : "[" + text + "]";
    end = span.end;
    previous = span.from_template;
  }
  EXPECT_EQ(end, prompt->text.size());
  return out;
}

TEST(ChatTemplate, RendersMessages) {
  EXPECT_EQ(
      render("{% for m in messages %}\n<|{{ m.role }}|>{{ m['content'] | trim }}\n"
             "{% endfor %}\n{% if add_generation_prompt %}<|assistant|>{% endif %}\n",
             R"({"messages":[{"role":"user","content":" Hi "}],"add_generation_prompt":true})"),
      "<|user|>Hi\n<|assistant|>");
}

TEST(ChatTemplate, NamesLineOfSyntaxErrors) {
  EXPECT_EQ(
      render("a\n{% if x %}"),
      "compile error: chat template: line 2: Unexpected end of template. Looking for 'endif'.");
  EXPECT_NE(render("\n\n{{ x|nosuch }}").find("line 3: No filter named 'nosuch'"),
            std::string::npos);
  EXPECT_NE(render("{% include 'x' %}").find("'include' is not supported"), std::string::npos);
}

TEST(ChatTemplate, RuntimeErrorsAreValues) {
  EXPECT_EQ(render("{{ raise_exception('No messages provided.') }}"),
            "error: No messages provided.");
  EXPECT_EQ(render("{{ missing.attribute }}"), "error: 'missing' is undefined");
  EXPECT_EQ(render("{{ x.y.z }}", R"({"x":{}})"), "error: 'dict object' has no attribute 'y'");
  EXPECT_EQ(render("{% set l = [] %}{% set _ = l.append(1) %}"),
            "error: access to attribute 'append' of 'list' object is unsafe. (line 1 of the chat "
            "template)");
  EXPECT_EQ(
      render("\n{{ 1 + 'a' }}"),
      "error: unsupported operand type(s) for +: 'int' and 'str' (line 2 of the chat template)");
}

TEST(ChatTemplate, ErrorsCarryTheirCode) {
  const auto compiled = ChatTemplate::compile("{{ raise_exception('x') }}");
  ASSERT_TRUE(compiled);
  const auto prompt = (*compiled)->render(json::Object());
  ASSERT_FALSE(prompt);
  EXPECT_EQ(prompt.error().code, ErrorCode::kInvalidArgument);
}

TEST(ChatTemplateOrigin, TellsRequestFromTemplate) {
  EXPECT_EQ(marked("<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>",
                   R"({"m":{"role":"user","content":"<|im_end|>"}})"),
            "<|im_start|>[user]\n[<|im_end|>]<|im_end|>");
}

TEST(ChatTemplateOrigin, SurvivesOperations) {
  const char* variables = R"({"c":"  a<x>b  ","l":["p","q"],"d":{"k":[1,"v"]},"n":7})";
  EXPECT_EQ(marked("{{ '(' + c|trim + ')' }}", variables), "([a<x>b])");
  EXPECT_EQ(marked("{{ c.strip().split('<x>')|join('|') }}", variables), "[a]|[b]");
  EXPECT_EQ(marked("{{ c.replace('<x>', '<y>').strip() }}", variables), "[a]<y>[b]");
  EXPECT_EQ(marked("{{ c.strip()[1:4]|upper }}", variables), "[<X>]");
  EXPECT_EQ(marked("{{ d|tojson }}", variables), R"([{"k": [1, "v"]}])");
  EXPECT_EQ(marked("{{ {'t': l}|tojson }}", variables), R"({"t": [["p", "q"]]})");
  EXPECT_EQ(marked("{{ '%s-%05d' % (l[0], n) }}", variables), "[p]-0000[7]");
  EXPECT_EQ(marked("{{ '<{}>'.format(l[1]) }}", variables), "<[q]>");
  EXPECT_EQ(marked("{{ l }}", variables), "[['p', 'q']]");
  EXPECT_EQ(marked("{% set x %}a{{ n }}{% endset %}{{ x ~ x }}", variables), "a[7]a[7]");
  EXPECT_EQ(marked("{% macro m(v) %}<{{ v }}>{% endmacro %}{{ m(l[0]) }}", variables), "<[p]>");
  EXPECT_EQ(marked("{% for ch in 'x' + l[0] %}{{ ch }}{% endfor %}", variables), "x[p]");
}

TEST(ChatTemplateLimits, StepsAreBounded) {
  EXPECT_NE(
      render("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}")
          .find("did not finish within"),
      std::string::npos);
}

TEST(ChatTemplateLimits, TextIsBounded) {
  EXPECT_NE(render("{% set ns = namespace(x='ab') %}{% for i in range(100) %}"
                   "{% set ns.x = ns.x ~ ns.x %}{% endfor %}")
                .find("a text of more than 64 MiB"),
            std::string::npos);
  EXPECT_NE(render("{{ 'abc' * 10000000000 }}").find("too large"), std::string::npos);
  EXPECT_NE(render("{{ 'a'.center(10000000000) }}").find("64 MiB"), std::string::npos);
  EXPECT_NE(render("{{ '%10000000000d' % 1 }}").find("too big"), std::string::npos);
  EXPECT_NE(render("{{ ('a' * 1000000).replace('a', 'b' * 1000) }}").find("64 MiB"),
            std::string::npos);
}

TEST(ChatTemplateLimits, DepthIsBounded) {
  EXPECT_NE(render("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}").find("nests deeper"),
            std::string::npos);
  EXPECT_NE(render("{% set ns = namespace(l=[]) %}{% for i in range(100000) %}"
                   "{% set ns.l = [ns.l] %}{% endfor %}")
                .find("nests deeper than"),
            std::string::npos);
  EXPECT_NE(render("{% set ns = namespace(g=[1]) %}{% for i in range(100000) %}"
                   "{% set ns.g = ns.g|map('string') %}{% endfor %}{{ ns.g|list }}")
                .find("nests deeper than"),
            std::string::npos);
  EXPECT_NE(render("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}")
                .find("too deeply"),
            std::string::npos);
  std::string sum = "{{ 1";
  for (int i = 0; i < 5000; ++i) {
    sum += " + 1";
  }
  EXPECT_NE(render(sum + " }}").find("too deeply"), std::string::npos);
}

TEST(ChatTemplateLimits, CyclesAreFreed) {
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.self = ns %}{% set ns.l = [ns] %}ok"),
            "ok");
  EXPECT_NE(render("{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}").find("nests deeper"),
            std::string::npos);
  EXPECT_EQ(render("{% set ns = namespace() %}{% macro m() %}{{ ns.x is defined }}{% endmacro %}"
                   "{% set ns.m = m %}{{ ns.m() }}"),
            "False");
}

class ChatTemplateLoad : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) /
                 ("chat_template_" + std::to_string(::getpid()) + "_" +
                  testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
  }
  std::string load_and_render() {
    const auto loaded = ChatTemplate::load(directory_);
    if (!loaded) {
      return "error: " + loaded.error().message;
    }
    const auto prompt = (*loaded)->render(json::Object());
    return prompt ? prompt->text : "error: " + prompt.error().message;
  }

  std::filesystem::path directory_;
};

TEST_F(ChatTemplateLoad, FileWinsOverConfig) {
  write("tokenizer_config.json", R"({"chat_template":"config"})");
  EXPECT_EQ(load_and_render(), "config");
  write("chat_template.json", R"({"chat_template":"json"})");
  EXPECT_EQ(load_and_render(), "json");
  write("chat_template.jinja", "jinja\n");
  EXPECT_EQ(load_and_render(), "jinja");
}

TEST_F(ChatTemplateLoad, TakesTheDefaultOfAList) {
  write(
      "tokenizer_config.json",
      R"({"chat_template":[{"name":"tool_use","template":"t"},{"name":"default","template":"d"}]})");
  EXPECT_EQ(load_and_render(), "d");
}

TEST_F(ChatTemplateLoad, KnowsSpecialTokens) {
  write("tokenizer_config.json",
        R"({"bos_token":"<s>","eos_token":{"content":"</s>","lstrip":false},"pad_token":null,
            "chat_template":"{{ bos_token }}{{ eos_token }}{{ pad_token is defined }}"})");
  EXPECT_EQ(load_and_render(), "<s></s>False");
}

TEST_F(ChatTemplateLoad, AFileThatCannotBeReadIsNotAbsent) {
  write("tokenizer_config.json", R"({"chat_template":"config"})");
  std::filesystem::create_directory(directory_ / "chat_template.jinja");
  EXPECT_NE(load_and_render().find("chat_template.jinja: cannot be read"), std::string::npos);
  std::filesystem::remove(directory_ / "chat_template.jinja");
  std::filesystem::create_symlink("nowhere", directory_ / "chat_template.json");
  const auto loaded = ChatTemplate::load(directory_);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("chat_template.json"), std::string::npos);
  EXPECT_NE(loaded.error().code, ErrorCode::kNotFound);  // which means that it has no template
}

TEST_F(ChatTemplateLoad, ErrorsNameTheFile) {
  EXPECT_NE(load_and_render().find("no chat template"), std::string::npos);
  write("tokenizer_config.json", "{");
  EXPECT_NE(load_and_render().find("tokenizer_config.json"), std::string::npos);
  write("tokenizer_config.json", R"({"chat_template":7})");
  EXPECT_NE(load_and_render().find("neither a string nor a list"), std::string::npos);
  write("chat_template.jinja", "{% if %}");
  const std::string error = load_and_render();
  EXPECT_NE(error.find("chat_template.jinja"), std::string::npos) << error;
  EXPECT_NE(error.find("line 1"), std::string::npos) << error;
}

}  // namespace
}  // namespace deltaserve
