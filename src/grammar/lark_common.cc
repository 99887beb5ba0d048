// What Lark's documentation says of each terminal, as regular expressions.
#include "grammar/lark_common.h"

#include <algorithm>
#include <array>
#include <utility>

namespace deltaserve {
namespace {

#define DS_EXP "[eE][+-]?[0-9]+"
#define DS_DECIMAL "(?:[0-9]+\\.[0-9]*|\\.[0-9]+)"
#define DS_FLOAT "(?:[0-9]+" DS_EXP "|" DS_DECIMAL "(?:" DS_EXP ")?)"

constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kTerminals = {{
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"DECIMAL", DS_DECIMAL},
    {"FLOAT", DS_FLOAT},
    {"SIGNED_FLOAT", "[+-]?" DS_FLOAT},
    {"NUMBER", "(?:" DS_FLOAT "|[0-9]+)"},
    {"SIGNED_NUMBER", "[+-]?(?:" DS_FLOAT "|[0-9]+)"},
    {"ESCAPED_STRING", "\"(?:[^\"\\\\\\n]|\\\\[^\\n])*\""},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[a-zA-Z]"},
    {"WORD", "[a-zA-Z]+"},
    {"CNAME", "[_a-zA-Z][_a-zA-Z0-9]*"},
    {"WS_INLINE", "[ \\t]+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"CR", "\\r"},
    {"LF", "\\n"},
    {"NEWLINE", "(?:\\r?\\n)+"},
    {"SH_COMMENT", "#[^\\n]*"},
    {"CPP_COMMENT", "//[^\\n]*"},
    {"C_COMMENT", "/\\*(?:[^*]|\\*+[^*/])*\\*+/"},
    {"SQL_COMMENT", "--[^\\n]*"},
}};

}  // namespace

std::optional<std::string_view> lark_common_pattern(std::string_view name) {
  const auto known =
      std::ranges::find(kTerminals, name, [](const auto& terminal) { return terminal.first; });
  return known == kTerminals.end() ? std::nullopt : std::optional(known->second);
}

}  // namespace deltaserve
