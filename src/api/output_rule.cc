// One reader for all spellings of the same wish.
#include "api/output_rule.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace deltaserve {
namespace {

constexpr size_t kMaxChoices = 4096;

class OutputRuleReader {
 public:
  explicit OutputRuleReader(FieldReader& fields) : fields_(fields) {}

  std::optional<OutputRule> run() {
    response_format();
    if (const json::Object* outputs = fields_.object("structured_outputs")) {
      structured(*outputs);
    }
    for (const std::string_view kind : {"json", "regex", "choice", "grammar"}) {
      const std::string key = fmt::format("guided_{}", kind);
      if (const json::Value* value = fields_.value(key)) wish(kind, *value, key);
    }
    if (fields_.value("structural_tag") != nullptr) {
      fields_.refuse("structural_tag", "'structural_tag' is not supported.");
    }
    return fields_.ok() ? std::move(rule_) : std::nullopt;
  }

 private:
  void set(GrammarSpec spec, std::string param) {
    if (rule_) {
      refuse(param, fmt::format("'{}' and '{}' exclude each other.", rule_->param, param));
      return;
    }
    rule_ = OutputRule{std::move(spec), std::move(param)};
  }

  void refuse(const std::string& param, std::string message) {
    fields_.fail(Error{ErrorCode::kInvalidArgument, std::move(message), param, ""});
  }

  void response_format() {
    const json::Object* format = fields_.object("response_format");
    if (format == nullptr) {
      return;
    }
    FieldReader nested(*format, "response_format");
    const std::string type = nested.string("type").value_or("");
    if (!nested.ok()) {
      fields_.fail(nested.error());
    } else if (type == "json_object") {
      set(AnyJsonObject{}, "response_format");
    } else if (type == "json_schema") {
      json_schema(nested);
    } else if (type != "text") {
      refuse("response_format.type",
             "'response_format.type' must be 'text', 'json_object' or 'json_schema'.");
    }
  }

  void json_schema(FieldReader& format) {
    const json::Object* inner = format.object("json_schema");
    if (!format.ok()) {
      fields_.fail(format.error());
      return;
    }
    const json::Value* schema = inner == nullptr ? nullptr : inner->if_contains("schema");
    if (schema == nullptr) {
      refuse("response_format.json_schema", "'response_format.json_schema.schema' is missing.");
      return;
    }
    set(JsonSchemaSpec{*schema}, "response_format.json_schema.schema");
  }

  void structured(const json::Object& outputs) {
    for (const auto& [key, value] : outputs) {
      const std::string param = fmt::format("structured_outputs.{}", std::string_view(key));
      if (value.is_null()) continue;
      if (key == "json_object") {
        if (!value.is_bool()) {
          refuse(param, fmt::format("'{}' must be a boolean.", param));
        } else if (value.get_bool()) {
          set(AnyJsonObject{}, param);
        }
      } else if (key == "json" || key == "regex" || key == "choice" || key == "grammar") {
        wish(key, value, param);
      } else if (key != "whitespace_pattern" && key != "disable_fallback" &&
                 key != "disable_any_whitespace") {
        refuse(param, fmt::format("'{}' is not supported.", param));
      }
    }
  }

  void wish(std::string_view kind, const json::Value& value, const std::string& param) {
    if (kind == "json") {
      json_wish(value, param);
    } else if (kind == "choice") {
      choices(value, param);
    } else if (!value.is_string()) {
      refuse(param, fmt::format("'{}' must be a string.", param));
    } else if (kind == "regex") {
      set(RegexSpec{std::string(value.get_string())}, param);
    } else {
      set(EbnfSpec{std::string(value.get_string())}, param);
    }
  }

  // A schema, or its text.
  void json_wish(const json::Value& value, const std::string& param) {
    if (!value.is_string()) {
      set(JsonSchemaSpec{value}, param);
      return;
    }
    Result<json::Value> parsed = json::parse(std::string_view(value.get_string()));
    if (!parsed) {
      refuse(param, fmt::format("'{}' is no JSON: {}", param, parsed.error().message));
      return;
    }
    set(JsonSchemaSpec{*std::move(parsed)}, param);
  }

  void choices(const json::Value& value, const std::string& param) {
    ChoiceSpec spec;
    if (value.is_array()) {
      for (const json::Value& choice : value.get_array()) {
        if (choice.is_string()) spec.choices.emplace_back(std::string_view(choice.get_string()));
      }
    }
    const bool all_strings = value.is_array() && spec.choices.size() == value.get_array().size();
    if (!all_strings || spec.choices.empty() || spec.choices.size() > kMaxChoices) {
      refuse(param, fmt::format("'{}' must be an array of 1 to {} strings.", param, kMaxChoices));
      return;
    }
    set(std::move(spec), param);
  }

  FieldReader& fields_;
  std::optional<OutputRule> rule_;
};

}  // namespace

std::optional<OutputRule> read_output_rule(FieldReader& fields) {
  return OutputRuleReader(fields).run();
}

}  // namespace deltaserve
