// Tool calls as a grammar, in the syntax that the model was taught, with arguments that satisfy the
// tools' schemas.
#pragma once

#include "base/error.h"
#include "chat/tool_call_parser.h"
#include "grammar/expr.h"
#include "json/json.h"

namespace deltaserve {

struct ToolCallRules {
  ToolCallFormat format = ToolCallFormat::kXml;  // not kNone
  // OpenAI's tool objects that may be called, at least one.
  json::Array tools;
  bool parallel = true;     // more than one call
  bool required = false;    // the request asks for a call
  bool text_first = false;  // free text, then calls or none
};

// Arguments of tools with "strict": true follow their schema; a keyword that cannot be kept is an
// error (kInvalidArgument) that names the tool and the keyword. Those of other tools follow it if
// they have to be called and all of it can be kept, else they are free. GrammarTooComplex may be
// thrown.
Result<ExprId> compile_tool_calls(ExprPool& pool, const ToolCallRules& rules);

}  // namespace deltaserve
