// The tools a request declares, as far as parsing calls needs them: names and argument types.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "chat/argument_types.h"
#include "json/json.h"

namespace deltaserve {

struct DeclaredTool {
  std::string name;
  std::map<std::string, ArgumentTypes, std::less<>> parameters;
  ArgumentTypes other = ArgumentTypes::only_string();  // of parameters that are not declared

  const ArgumentTypes& types(std::string_view key) const;
};

class ToolSet {
 public:
  ToolSet() = default;

  // OpenAI's tool array, or its bare function objects. Errors: kInvalidArgument naming the entry
  // that has no name.
  static Result<ToolSet> from_json(const json::Array& tools);

  bool empty() const { return tools_.empty(); }
  const DeclaredTool* find(std::string_view name) const;  // nullptr if not declared
  const std::vector<DeclaredTool>& tools() const { return tools_; }

 private:
  std::vector<DeclaredTool> tools_;
};

}  // namespace deltaserve
