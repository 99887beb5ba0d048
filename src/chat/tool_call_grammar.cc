// <tool_call> and </tool_call> are control bytes here, as everywhere inside the chat folder.
#include "chat/tool_call_grammar.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chat/output_control.h"
#include "chat/tool_set.h"
#include "grammar/char_set.h"
#include "grammar/json_schema.h"
#include "grammar/json_text.h"
#include "grammar/regex.h"

namespace deltaserve {
namespace {

constexpr int32_t kMany = ExprPool::kUnbounded;
constexpr int32_t kMaxCalls = 128;     // of one answer: a model cannot go on for ever
constexpr int32_t kMaxOtherKey = 64;   // bytes of an undeclared parameter's name
constexpr size_t kMaxKey = 256;        // and of a declared one: what the parser reads
constexpr int32_t kMaxBlankLines = 4;  // before the first call, after a thought

class ToolCallCompiler {
 public:
  ToolCallCompiler(ExprPool& pool, const ToolCallRules& rules)
      : pool_(pool), json_(pool), rules_(rules) {
    const ExprId any = utf8_character(pool, CharSet::all());
    value_text_ = without(any, {"</parameter", "<parameter=", "</function"});
    free_text_ = pool.repeat(any, 0, kMany);
  }

  Result<ExprId> run() {
    std::vector<ExprId> calls;
    for (const json::Value& tool : rules_.tools) {
      const Result<ExprId> call = tool_call(tool);
      if (!call) return call;
      calls.push_back(*call);
    }
    const ExprId call =
        pool_.concat(pool_.literal(std::string_view(&control::kToolCallOpen, 1)),
                     pool_.concat(pool_.alt(calls),
                                  pool_.literal(std::string_view(&control::kToolCallClose, 1))));
    const int32_t more = rules_.parallel ? kMaxCalls - 1 : 0;
    const ExprId all =
        pool_.concat(call, pool_.repeat(pool_.concat(pool_.literal("\n"), call), 0, more));
    if (rules_.text_first) {
      return pool_.concat(free_text_, pool_.optional(all));
    }
    const ExprId blank = pool_.bytes(ByteSet::of('\n') | ByteSet::of(' '));
    return pool_.concat(pool_.repeat(blank, 0, kMaxBlankLines), all);
  }

 private:
  // Text in which none of `parts` occurs.
  ExprId without(ExprId character, const std::vector<std::string_view>& parts) {
    const ExprId any = pool_.repeat(character, 0, kMany);
    std::vector<ExprId> found;
    found.reserve(parts.size());
    for (const std::string_view part : parts) found.push_back(pool_.literal(part));
    const ExprId with = pool_.concat(any, pool_.concat(pool_.alt(found), any));
    return pool_.both(any, pool_.negate(with));
  }

  // Between the two tags.
  Result<ExprId> tool_call(const json::Value& tool) {
    const json::Object& function = tool.at("function").get_object();
    const std::string name(function.at("name").get_string());
    const json::Value* strict = function.if_contains("strict");
    const json::Value* declared = function.if_contains("parameters");
    const bool is_strict = strict != nullptr && *strict == true;
    const json::Value none = json::Object{{"type", "object"}, {"additionalProperties", false}};
    const json::Value free = json::Object{{"type", "object"}, {"additionalProperties", true}};
    const bool has_schema = declared != nullptr && declared->is_object();
    Result<ExprId> call = !is_strict && !rules_.required
                              ? call_of(tool, name, free)
                              : call_of(tool, name, has_schema ? *declared : none);
    // Without `strict` a schema promises nothing: one that no grammar can keep is for the model.
    if (!call && !is_strict) call = call_of(tool, name, free);
    if (!call) {
      call.error().message = fmt::format("Tool '{}': {}", name, call.error().message);
      call.error().param = "tools";
    }
    return call;
  }

  Result<ExprId> call_of(const json::Value& tool, const std::string& name,
                         const json::Value& parameters) {
    return rules_.format == ToolCallFormat::kXml ? xml_call(tool, name, parameters)
                                                 : json_call(name, parameters);
  }

  Result<ExprId> json_call(const std::string& name, const json::Value& parameters) {
    const Result<ExprId> arguments = compile_json_schema(pool_, json_, parameters);
    if (!arguments) return arguments;
    const std::string head = fmt::format("\n{{\"name\": \"{}\", \"arguments\": ", name);
    return pool_.concat(pool_.literal(head), pool_.concat(*arguments, pool_.literal("}\n")));
  }

  Result<ExprId> xml_call(const json::Value& tool, const std::string& name,
                          const json::Value& parameters) {
    const Result<ToolSet> declared = ToolSet::from_json({tool});
    if (!declared) return std::unexpected(declared.error());
    const auto text_of = [&](std::string_view argument) {
      return argument_text(declared->find(name)->types(argument));
    };
    const Result<SchemaArguments> arguments =
        compile_schema_arguments(pool_, json_, parameters, text_of);
    if (!arguments) return std::unexpected(arguments.error());
    std::vector<ExprId> parts = {pool_.literal(fmt::format("\n<function={}>\n", name))};
    std::vector<ExprId> names;
    for (const SchemaArgument& argument : arguments->named) {
      if (!is_xml_key(argument.name)) {
        return invalid(
            fmt::format("the parameter '{}' has a name that this model's syntax of tool "
                        "calls cannot write.",
                        argument.name));
      }
      names.push_back(pool_.literal(argument.name));
      const ExprId one = parameter(names.back(), argument.value);
      if (one == ExprPool::kNothing && argument.required) {
        return invalid(fmt::format("no value satisfies the parameter '{}'.", argument.name));
      }
      parts.push_back(argument.required ? one : pool_.optional(one));
    }
    const ExprId letter =
        pool_.bytes(ByteSet::range('a', 'z') | ByteSet::range('A', 'Z') | ByteSet::range('0', '9') |
                    ByteSet::of('_') | ByteSet::of('-'));
    const ExprId key =
        pool_.both(pool_.repeat(letter, 1, kMaxOtherKey), pool_.negate(pool_.alt(names)));
    parts.push_back(pool_.repeat(parameter(key, arguments->other), 0, kMany));
    parts.push_back(pool_.literal("</function>\n"));
    return pool_.concat(parts);
  }

  // What stands between "<parameter=" and ">" on a line.
  static bool is_xml_key(std::string_view name) {
    return !name.empty() && name.size() <= kMaxKey &&
           name.find_first_of(">\n") == std::string_view::npos;
  }

  // An argument that may have other types is a string only where its text is none of these: what
  // argument_json() makes of it.
  ArgumentText argument_text(const ArgumentTypes& types) {
    ArgumentText text;
    text.character = [this](const CharSet& set) { return utf8_character(pool_, set); };
    text.anything = value_text_;
    const bool container = types.object || types.array;
    const auto key = std::array{types.null, types.boolean, types.number, container};
    const auto [known, is_new] = string_texts_.emplace(key, value_text_);
    if (is_new && !types.is_plain_string()) known->second = string_beside(types);
    text.string = known->second;
    return text;
  }

  ExprId string_beside(const ArgumentTypes& types) {
    const auto pattern = [this](std::string_view regex) {
      const auto character = [this](const CharSet& set) { return utf8_character(pool_, set); };
      return compile_regex(pool_, regex, {character, false}).value();
    };
    std::vector<ExprId> others;
    if (types.null) others.push_back(pattern("null|None"));
    if (types.boolean) others.push_back(pattern("[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]"));
    if (types.number) others.push_back(json_.number());
    if (types.object || types.array) others.push_back(pattern("[\\[{][\\s\\S]*"));
    const ExprId space = pattern("[ \\t\\n\\r]*");
    const ExprId taken = pool_.concat(space, pool_.concat(pool_.alt(others), space));
    return pool_.both(value_text_, pool_.negate(taken));
  }

  ExprId parameter(ExprId key, ExprId value) {
    const std::vector<ExprId> parts = {pool_.literal("<parameter="), key, pool_.literal(">\n"),
                                       value, pool_.literal("\n</parameter>\n")};
    return pool_.concat(parts);
  }

  ExprPool& pool_;
  JsonText json_;
  const ToolCallRules& rules_;
  ExprId value_text_ = ExprPool::kEmpty;                // any text of an argument
  std::map<std::array<bool, 4>, ExprId> string_texts_;  // by what else the argument may be
  ExprId free_text_ = ExprPool::kEmpty;
};

}  // namespace

Result<ExprId> compile_tool_calls(ExprPool& pool, const ToolCallRules& rules) {
  return ToolCallCompiler(pool, rules).run();
}

}  // namespace deltaserve
