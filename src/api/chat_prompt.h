// From a chat body to prompt tokens: messages, tools and template variables are read, the template
// rendered and the text encoded. Shared by all that carries a conversation, /tokenize included.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/field_reader.h"
#include "api/prompt_media.h"
#include "api/serving_context.h"
#include "api/tools_field.h"
#include "chat/output_parser.h"

namespace deltaserve {

struct ChatPrompt {
  std::vector<int32_t> token_ids;  // with all placeholders of images and videos
  std::vector<PromptMedia> media;  // not yet decoded
  std::string continued_text;      // of the last message with continue_final_message, else ""
  OutputOptions output;            // how the answer to this prompt is to be read
  ToolFields tools;
  std::optional<int64_t> thinking_budget;
  std::string remark;  // what the log should say of the messages, "" for nothing
};

// Reads messages, tools, tool_choice, parallel_tool_calls, chat_template_kwargs, the thinking
// fields, add_generation_prompt and continue_final_message. Errors: kInvalidArgument with `param`,
// the template's own complaint, or that the checkpoint has no template.
Result<ChatPrompt> build_chat_prompt(const ServingContext& context, FieldReader& fields);

}  // namespace deltaserve
