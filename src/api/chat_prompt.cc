// Renders the chat template and encodes the result so that text which came from the request cannot
// become control tokens.
#include "api/chat_prompt.h"

#include <fmt/format.h>

#include "api/messages.h"
#include "api/thinking_switch.h"
#include "api/tool_result_ids.h"
#include "api/video_prompt.h"

namespace deltaserve {
namespace {

struct TemplateInput {
  json::Array messages;
  std::vector<MediaPart> media;  // views into the request
  json::Object variables;        // all but messages
  ToolFields tools;
  std::optional<int64_t> thinking_budget;
  bool continue_final_message = false;
  std::optional<Error> orphan;  // see find_orphan_result
};

json::Object read_template_kwargs(FieldReader& fields) {
  const json::Object* kwargs = fields.object("chat_template_kwargs");
  if (kwargs == nullptr) {
    return {};
  }
  for (const std::string_view reserved : {"messages", "tools"}) {
    if (kwargs->contains(reserved)) {
      fields.refuse("chat_template_kwargs",
                    fmt::format("'chat_template_kwargs' must not set '{}'.", reserved));
    }
  }
  json::Object variables = *kwargs;
  if (Result<void> read = normalize_switches(variables, "chat_template_kwargs"); !read) {
    fields.fail(std::move(read.error()));
  }
  return variables;
}

// Whether the last message is to be continued, and the generation prompt that goes with it.
void read_continuation(FieldReader& fields, TemplateInput& input) {
  input.continue_final_message = fields.boolean("continue_final_message", false);
  const std::optional<bool> generation = fields.optional_boolean("add_generation_prompt");
  if (input.continue_final_message && generation.value_or(false)) {
    fields.refuse("continue_final_message",
                  "'continue_final_message' and 'add_generation_prompt' exclude each other.");
  }
  if (input.continue_final_message) {
    input.variables["add_generation_prompt"] = false;
  } else if (generation) {
    input.variables["add_generation_prompt"] = *generation;
  } else if (!input.variables.contains("add_generation_prompt")) {
    input.variables["add_generation_prompt"] = true;
  }
}

// The server's template variables under the request's.
json::Object read_variables(const ServingContext& context, FieldReader& fields,
                            const ThinkingFields& thinking) {
  const json::Object kwargs = read_template_kwargs(fields);
  json::Object variables = context.chat.template_kwargs;
  for (const auto& [key, value] : kwargs) {
    variables[key] = value;
  }
  if (fields.ok()) {
    set_thinking_variables(thinking, kwargs, context.chat_template->source(), variables);
  }
  return variables;
}

// The prompt ends with the text of the message, before any calls: those would be lost.
Result<void> check_continued(const json::Object& message) {
  if (message.at("role") != "assistant") {
    return invalid("'continue_final_message' needs an assistant message at the end.", "messages");
  }
  if (message.contains("tool_calls")) {
    return invalid(
        "'continue_final_message' cannot continue a message with 'tool_calls': tool messages with "
        "their results must follow.",
        "messages");
  }
  return {};
}

Result<TemplateInput> read_template_input(const ServingContext& context, FieldReader& fields) {
  TemplateInput input;
  const ThinkingFields thinking = read_thinking_fields(fields);
  input.thinking_budget = thinking.budget;
  input.variables = read_variables(context, fields, thinking);
  input.tools = read_tool_fields(fields);
  if (!input.tools.tools.empty() && !input.tools.forbidden) {
    input.variables["tools"] = input.tools.tools;
  }
  read_continuation(fields, input);
  const json::Array* messages = fields.array("messages");
  if (fields.ok() && messages == nullptr) {
    fields.refuse("messages", "'messages' is missing.");
  }
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  Result<NormalizedMessages> normalized = normalize_messages(*messages);
  if (!normalized) {
    return std::unexpected(std::move(normalized.error()));
  }
  input.messages = std::move(normalized->messages);
  input.media = std::move(normalized->media);
  input.orphan = find_orphan_result(*messages);
  if (input.orphan && context.chat.strict_tool_call_ids) {
    return std::unexpected(*std::move(input.orphan));
  }
  if (input.continue_final_message) {
    if (Result<void> checked = check_continued(input.messages.back().get_object()); !checked) {
      return std::unexpected(std::move(checked.error()));
    }
  }
  return input;
}

Result<RenderedPrompt> render_messages(const ChatTemplate& chat_template, json::Object variables,
                                       json::Array messages) {
  variables["messages"] = std::move(messages);
  Result<RenderedPrompt> rendered = chat_template.render(variables);
  if (!rendered && rendered.error().param.empty()) {
    rendered.error().param = "messages";
  }
  return rendered;
}

// A template that refuses system messages after the first gets all of them merged into the first:
// both texts reach the model, in their order.
Result<RenderedPrompt> render(const ChatTemplate& chat_template, const TemplateInput& input) {
  Result<RenderedPrompt> rendered = render_messages(chat_template, input.variables, input.messages);
  if (!rendered && has_later_system(input.messages)) {
    return render_messages(chat_template, input.variables, merge_all_system(input.messages));
  }
  return rendered;
}

// A text that does not occur in `content` and ends it, so that the end of the content can be found
// in the rendered prompt and templates that trim leave the content's own end alone.
std::string end_mark(std::string_view content) {
  std::string mark = "[[end of final message]]";
  while (content.find(mark) != std::string_view::npos) {
    mark += '.';
  }
  return mark;
}

void cut(RenderedPrompt& prompt, size_t size) {
  prompt.text.resize(size);
  while (!prompt.spans.empty() && prompt.spans.back().begin >= size) {
    prompt.spans.pop_back();
  }
  if (!prompt.spans.empty()) {
    prompt.spans.back().end = std::min(prompt.spans.back().end, size);
  }
}

// Renders up to the end of the last message's own text.
Result<RenderedPrompt> render_continued(const ChatTemplate& chat_template, TemplateInput input) {
  json::Object& last = input.messages.back().get_object();
  const std::string content(last["content"].get_string());
  const std::string mark = end_mark(content);
  last["content"] = content + mark;
  Result<RenderedPrompt> rendered = render(chat_template, input);
  if (!rendered) {
    return rendered;
  }
  const size_t end = rendered->text.rfind(mark);
  if (end == std::string::npos) {
    return invalid("The chat template does not show the last message, so it cannot be continued.",
                   "continue_final_message");
  }
  cut(*rendered, end);
  return rendered;
}

// With the videos written out; images have one placeholder each.
Result<RenderedPrompt> render_prompt(const ServingContext& context, const TemplateInput& input,
                                     const std::vector<PromptMedia>& media) {
  Result<RenderedPrompt> rendered = input.continue_final_message
                                        ? render_continued(*context.chat_template, input)
                                        : render(*context.chat_template, input);
  if (!rendered || media.empty()) {
    return rendered;
  }
  return write_video_patches(context.media->wording, media, *std::move(rendered));
}

std::vector<int32_t> encode(const ServingContext& context, const RenderedPrompt& prompt) {
  const std::string_view text = prompt.text;
  std::vector<TextSpan> spans;
  spans.reserve(prompt.spans.size());
  for (const RenderedPrompt::Span& span : prompt.spans) {
    spans.push_back({text.substr(span.begin, span.end - span.begin),
                     span.from_template || context.allow_special_tokens_in_content});
  }
  return context.tokenizer->encode(spans);
}

// Where the prompt leaves off. A tag that came from the request is text, unless such text may be a
// control token.
OutputStart start_of_answer(const ServingContext& context, const RenderedPrompt& prompt) {
  const size_t last = prompt.text.find_last_not_of(" \t\r\n");
  for (const RenderedPrompt::Span& span : prompt.spans) {
    if (last >= span.begin && last < span.end && !span.from_template &&
        !context.allow_special_tokens_in_content) {
      return OutputStart::kContent;
    }
  }
  return output_start(prompt.text);
}

Result<OutputOptions> output_options(const ServingContext& context, const ToolFields& tools,
                                     const RenderedPrompt& prompt) {
  OutputOptions output;
  output.start = start_of_answer(context, prompt);
  output.split_reasoning = context.chat.split_reasoning;
  if (tools.tools.empty()) {
    return output;
  }
  Result<ToolSet> set = ToolSet::from_json(tools.tools);
  if (!set) {
    return std::unexpected(std::move(set.error()));
  }
  output.format =
      context.chat.tool_calls.value_or(tool_call_format(context.chat_template->source()));
  output.tools = std::make_shared<const ToolSet>(*std::move(set));
  return output;
}

}  // namespace

Result<ChatPrompt> build_chat_prompt(const ServingContext& context, FieldReader& fields) {
  if (context.chat_template == nullptr) {
    return invalid("This checkpoint has no chat template: use /v1/completions.");
  }
  Result<TemplateInput> input = read_template_input(context, fields);
  if (!input) {
    return std::unexpected(std::move(input.error()));
  }
  ChatPrompt prompt;
  Result<std::vector<PromptMedia>> media = read_prompt_media(context.media.get(), input->media);
  if (!media) {
    return std::unexpected(std::move(media.error()));
  }
  prompt.media = *std::move(media);
  if (input->continue_final_message) {
    prompt.continued_text = input->messages.back().at("content").get_string();
  }
  const Result<RenderedPrompt> rendered = render_prompt(context, *input, prompt.media);
  if (!rendered) {
    return std::unexpected(rendered.error());
  }
  Result<OutputOptions> output = output_options(context, input->tools, *rendered);
  if (!output) {
    return std::unexpected(std::move(output.error()));
  }
  prompt.output = *std::move(output);
  prompt.tools = std::move(input->tools);
  prompt.thinking_budget = input->thinking_budget;
  prompt.remark = input->orphan ? std::move(input->orphan->message) : std::string();
  prompt.token_ids = encode(context, *rendered);
  if (prompt.token_ids.empty()) {
    return invalid("The chat template made an empty prompt of these messages.", "messages");
  }
  if (context.media != nullptr) {
    Result<std::vector<int32_t>> expanded =
        expand_placeholders(*context.media, prompt.token_ids, prompt.media);
    if (!expanded) {
      return std::unexpected(std::move(expanded.error()));
    }
    prompt.token_ids = *std::move(expanded);
  }
  return prompt;
}

}  // namespace deltaserve
