// Renders templates for the comparison with jinja2: reads one JSON object a line,
// {"template": ..., "variables": {...}}, and answers each with {"text": ..., "spans": [[b, e, t],
// ...]} or {"error": ...}.
#include <iostream>
#include <string>

#include "chat/chat_template.h"
#include "json/fields.h"

namespace deltaserve {
namespace {

json::Object failure(const std::string& message) {
  json::Object answer;
  answer["error"] = message;
  return answer;
}

json::Object answer_line(const std::string& line) {
  const Result<json::Value> value = json::parse(line);
  if (!value || !value->is_object()) {
    return failure("the line is not a JSON object");
  }
  const json::Object& object = value->get_object();
  const auto source = json::string_field(object, "template");
  const auto variables = json::object_field(object, "variables");
  if (!source || !*source || !variables || *variables == nullptr) {
    return failure("template or variables are missing");
  }
  const auto compiled = ChatTemplate::compile(**source);
  if (!compiled) {
    return failure(compiled.error().message);
  }
  const Result<RenderedPrompt> prompt = (*compiled)->render(**variables);
  if (!prompt) {
    return failure(prompt.error().message);
  }
  json::Object answer;
  answer["text"] = prompt->text;
  json::Array spans;
  for (const RenderedPrompt::Span& span : prompt->spans) {
    spans.push_back(json::Array{span.begin, span.end, span.from_template});
  }
  answer["spans"] = std::move(spans);
  return answer;
}

}  // namespace
}  // namespace deltaserve

int main() {
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << deltaserve::json::serialize(deltaserve::answer_line(line)) << '\n';
  }
  return 0;
}
