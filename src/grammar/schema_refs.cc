// References inside one schema document.
#include <fmt/format.h>

#include "grammar/schema_compiler.h"

namespace deltaserve {

std::optional<SchemaCompiler::Part> SchemaCompiler::resolve(const Part& part,
                                                            std::string_view reference) {
  const auto [target, in_document] = resources_.resolve(*part.schema, reference);
  if (!in_document) {
    refuse(part.path, fmt::format("'$ref' to '{}': only references inside the schema itself "
                                  "are supported.",
                                  reference));
    return std::nullopt;
  }
  if (target == nullptr || (!target->is_object() && !target->is_bool())) {
    refuse(part.path, fmt::format("'$ref' to '{}' leads to no schema.", reference));
    return std::nullopt;
  }
  return Part{target, std::string(reference)};
}

}  // namespace deltaserve
