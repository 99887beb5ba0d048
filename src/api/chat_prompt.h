// From a chat body to prompt tokens: messages, tools and template variables are read, the template
// rendered and the text encoded. Shared by /v1/chat/completions and /tokenize.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/field_reader.h"
#include "api/serving_context.h"

namespace deltaserve {

struct ChatPrompt {
  std::vector<int32_t> token_ids;
  std::string continued_text;  // of the last message with continue_final_message, else ""
};

// Reads messages, tools, tool_choice, chat_template_kwargs, the thinking switches,
// add_generation_prompt and continue_final_message. Errors: kInvalidArgument with `param`, the
// template's own complaint, or that the checkpoint has no template.
Result<ChatPrompt> build_chat_prompt(const ServingContext& context, FieldReader& fields);

}  // namespace deltaserve
