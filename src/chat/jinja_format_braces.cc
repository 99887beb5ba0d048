// "{} and {name[key]!r:>8}".format(...), through the sandbox's attribute rules.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "chat/jinja_access.h"
#include "chat/jinja_builtins.h"
#include "chat/jinja_format.h"
#include "chat/jinja_number.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"
#include "text/utf8.h"

namespace deltaserve::jinja {
namespace {

bool is_align(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

int64_t read_number(std::string_view& text) {
  int64_t number = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    number = number * 10 + (text[0] - '0');
    if (number > static_cast<int64_t>(kMaxTextBytes)) {
      fail_type("Too many decimal digits in format string");
    }
    text.remove_prefix(1);
  }
  return number;
}

FormatSpec parse_spec(std::string_view text) {
  FormatSpec spec;
  const auto skip = [&text](char c) {
    const bool found = text.starts_with(c);
    text.remove_prefix(found ? 1 : 0);
    return found;
  };
  if (!text.empty()) {
    const size_t fill = utf8::decode_valid(text.data()).length;
    if (text.size() > fill && is_align(text[fill])) {
      spec.fill = std::string(text.substr(0, fill));
      spec.align = text[fill];
      text.remove_prefix(fill + 1);
    } else if (is_align(text[0])) {
      spec.align = text[0];
      text.remove_prefix(1);
    }
  }
  if (!text.empty() && (text[0] == '+' || text[0] == '-' || text[0] == ' ')) {
    spec.sign = text[0];
    text.remove_prefix(1);
  }
  spec.alternate = skip('#');
  if (skip('0') && spec.align == '\0') {
    spec.fill = std::string("0");
    spec.align = '=';
  }
  spec.width = read_number(text);
  if (text.starts_with(',') || text.starts_with('_')) {
    spec.grouping = text[0];
    text.remove_prefix(1);
  }
  if (skip('.')) {
    if (text.empty() || text[0] < '0' || text[0] > '9') {
      fail_type("Format specifier missing precision");
    }
    spec.precision = static_cast<int>(read_number(text));
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty()) {
    fail_type("Invalid format specifier");
  }
  return spec;
}

class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const Arguments& arguments)
      : runtime_(runtime), arguments_(arguments) {}

  Text run(const Text& format, int nesting) {
    if (nesting > 1) {
      fail_type("Max string recursion exceeded");
    }
    const std::string_view bytes = format.bytes();
    Text out;
    for (size_t i = 0; i < bytes.size();) {
      const size_t brace = std::min(bytes.find_first_of("{}", i), bytes.size());
      out.append(format, i, brace);
      if (brace == bytes.size()) {
        break;
      }
      if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
        out.append(format, brace, brace + 1);
        i = brace + 2;
        continue;
      }
      if (bytes[brace] == '}') {
        fail_type("Single '}' encountered in format string");
      }
      const size_t end = field_end(bytes, brace + 1);
      append_field(format, brace + 1, end, nesting, out);
      i = end + 1;
    }
    return out;
  }

 private:
  // The closing brace of the field that begins at `begin`.
  static size_t field_end(std::string_view bytes, size_t begin) {
    int depth = 1;
    for (size_t i = begin; i < bytes.size(); ++i) {
      depth += bytes[i] == '{' ? 1 : (bytes[i] == '}' ? -1 : 0);
      if (depth == 0) {
        return i;
      }
    }
    fail_type("expected '}' before end of string");
  }

  void append_field(const Text& format, size_t begin, size_t end, int nesting, Text& out) {
    const std::string_view bytes = format.bytes();
    const bool origin = format.from_template_at(begin);
    size_t name_end = begin;
    bool in_brackets = false;
    while (name_end < end && (in_brackets || (bytes[name_end] != '!' && bytes[name_end] != ':'))) {
      in_brackets = (in_brackets || bytes[name_end] == '[') && bytes[name_end] != ']';
      ++name_end;
    }
    Value value = resolve(bytes.substr(begin, name_end - begin));
    size_t i = name_end;
    if (i < end && bytes[i] == '!') {
      const char conversion = i + 1 < end ? bytes[i + 1] : '\0';
      if (conversion != 'r' && conversion != 's') {
        fail_type("Unknown conversion specifier");
      }
      value = conversion == 'r' ? runtime_.string(repr_text(value))
                                : runtime_.string(str(runtime_, value));
      i += 2;
    }
    Text spec;
    if (i < end) {
      if (bytes[i] != ':') {
        fail_type("expected ':' after conversion specifier");
      }
      spec = run(format.slice(i + 1, end), nesting + 1);
    }
    append_value(value, spec.bytes(), origin, out);
  }

  Text repr_text(const Value& value) {
    Text text;
    append_repr(runtime_, value, text);
    return text;
  }

  Value resolve(std::string_view name) {
    const size_t first_end = std::min(name.find_first_of(".["), name.size());
    Value value = argument(name.substr(0, first_end));
    for (size_t i = first_end; i < name.size();) {
      if (name[i] == '.') {
        const size_t end = std::min(name.find_first_of(".[", i + 1), name.size());
        value = get_attribute(runtime_, value, name.substr(i + 1, end - i - 1));
        i = end;
      } else if (name[i] == '[') {
        const size_t end = name.find(']', i);
        if (end == std::string_view::npos) {
          fail_type("Missing ']' in format string");
        }
        const std::string_view key = name.substr(i + 1, end - i - 1);
        value = get_item(
            runtime_, value,
            is_number(key) ? Value::integer(index_of(key)) : runtime_.string(std::string(key)));
        i = end + 1;
      } else {
        fail_type("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return value;
  }

  static bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  }
  static Int index_of(std::string_view digits) {
    const auto number = parse_int(digits, 10);
    if (!number || *number > std::numeric_limits<int64_t>::max()) {
      fail_type("Too many decimal digits in format string");
    }
    return *number;
  }

  Value argument(std::string_view name) {
    if (name.empty() || is_number(name)) {
      const bool automatic = name.empty();
      if (numbering_ && *numbering_ != automatic) {
        fail_type("cannot switch between manual and automatic field numbering");
      }
      numbering_ = automatic;
      const Int index = automatic ? Int{next_++} : index_of(name);
      if (index >= static_cast<Int>(arguments_.positional.size())) {
        fail_type("Replacement index out of range for positional args tuple");
      }
      return arguments_.positional[static_cast<size_t>(index)];
    }
    for (const auto& [key, value] : arguments_.named) {
      if (key == name) {
        return value;
      }
    }
    fail_type(quote(name));
  }

  void append_value(const Value& value, std::string_view spec_text, bool origin, Text& out) {
    if (spec_text.empty()) {
      append_str(runtime_, value, out);
      return;
    }
    FormatSpec spec = parse_spec(spec_text);
    if (value.is_string()) {
      append_string(value, spec, origin, out);
    } else if (value.is_number()) {
      append_number(value, spec, origin, out);
    } else {
      fail_type(fmt::format("unsupported format string passed to {}.__format__", type_name(value)));
    }
  }

  void append_string(const Value& value, FormatSpec& spec, bool origin, Text& out) {
    if ((spec.type != '\0' && spec.type != 's') || spec.sign != '-' || spec.grouping != '\0' ||
        spec.alternate) {
      fail_type(fmt::format("Unknown format code '{}' for object of type 'str'", spec.type));
    }
    if (spec.align == '=') {
      if (spec.fill != "0") {
        fail_type("'=' alignment not allowed in string format specifier");
      }
      spec.align = '<';
    }
    Text text = value.text();
    if (spec.precision) {
      SliceParts parts;
      parts.stop = Value::integer(*spec.precision);
      text = get_slice(runtime_, value, parts).text();
    }
    out.append(pad_to_width(runtime_, text, spec, false, origin));
  }

  void append_number(const Value& value, const FormatSpec& spec, bool origin, Text& out) {
    constexpr std::string_view kFloatTypes = "eEfFgG%";
    const bool as_float =
        value.is(Kind::kFloat) ||
        (spec.type != '\0' && kFloatTypes.find(spec.type) != std::string_view::npos);
    if (!as_float && spec.precision) {
      fail_type("Precision not allowed in integer format specifier");
    }
    std::string text =
        as_float ? format_float(value.as_float(), spec) : format_integer(value.as_int(), spec);
    out.append(
        pad_to_width(runtime_, Text(std::move(text), value.from_template()), spec, true, origin));
  }

  Runtime& runtime_;
  const Arguments& arguments_;
  size_t next_ = 0;
  std::optional<bool> numbering_;
};

}  // namespace

Value format_braces(Runtime& runtime, const Text& format, const Arguments& arguments) {
  runtime.charge_bytes(format.size());
  return runtime.string(BraceFormatter(runtime, arguments).run(format, 0));
}

}  // namespace deltaserve::jinja
