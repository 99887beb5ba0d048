// What a request says its answer has to follow: response_format, structured_outputs and their older
// names.
#pragma once

#include <optional>

#include "api/field_reader.h"
#include "grammar/grammar_spec.h"

namespace deltaserve {

struct OutputRule {
  GrammarSpec spec;
  std::string param;  // the field that it comes from
};

// Reads response_format {text, json_object, json_schema}, structured_outputs {json, regex, choice,
// grammar, json_object} and guided_json, guided_regex, guided_choice, guided_grammar; more than one
// of them is an error. None if the answer is free. Errors stay in `fields`.
std::optional<OutputRule> read_output_rule(FieldReader& fields);

}  // namespace deltaserve
