// Filters on text. Most coerce their input with str() first, as jinja2 does.
#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja_access.h"
#include "chat/jinja_builtins.h"
#include "chat/jinja_format.h"
#include "chat/jinja_methods.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"
#include "chat/jinja_unicode.h"

namespace deltaserve::jinja {
namespace {

Value filter_upper(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("upper", arguments, {});
  return runtime.string(map_case(str(runtime, input), true));
}

Value filter_lower(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("lower", arguments, {});
  return runtime.string(map_case(str(runtime, input), false));
}

Value filter_capitalize(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("capitalize", arguments, {});
  return runtime.string(capitalize_text(str(runtime, input)));
}

bool breaks_words(char32_t c) {
  return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
}

// Upper case after white space and opening brackets, lower case elsewhere; unlike str.title.
Value filter_title(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("title", arguments, {});
  const Text text = str(runtime, input);
  const std::string_view bytes = text.bytes();
  Text out;
  for (size_t i = 0; i < bytes.size();) {
    const utf8::Decoded first = utf8::decode_valid(bytes.data() + i);
    size_t end = i + first.length;
    const bool separator = breaks_words(first.code_point);
    while (end < bytes.size()) {
      const utf8::Decoded c = utf8::decode_valid(bytes.data() + end);
      if (breaks_words(c.code_point) != separator) {
        break;
      }
      end += c.length;
    }
    if (separator) {
      out.append(text, i, end);
    } else {
      out.append(map_case(text.slice(i, i + first.length), true));
      out.append(map_case(text.slice(i + first.length, end), false));
    }
    i = end;
  }
  return runtime.string(std::move(out));
}

Value filter_trim(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("trim", arguments, {"chars"});
  return runtime.string(strip_text(str(runtime, input), bound[0], true, true));
}

Value filter_replace(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  const int64_t count = bound[2] == nullptr || bound[2]->is_none() ? -1 : to_int64(*bound[2]);
  return runtime.string(replace_text(runtime, str(runtime, input), str(runtime, *bound[0]),
                                     str(runtime, *bound[1]), count));
}

Value filter_join(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("join", arguments, {"d", "attribute"});
  const AttributePath path(runtime, bound[1]);
  const Text separator = bound[0] != nullptr ? str(runtime, *bound[0]) : Text();
  const std::unique_ptr<Cursor> cursor = iterate(runtime, input);
  Text out;
  Value item;
  bool first = true;
  while (cursor->next(item)) {
    if (!first) {
      out.append(separator);
    }
    first = false;
    append_str(runtime, path.get(runtime, item), out);
    if (out.size() > kMaxTextBytes) {
      runtime.charge_bytes(out.size());
    }
  }
  return runtime.string(std::move(out));
}

Value filter_string(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("string", arguments, {});
  return input.is_string() ? input : runtime.string(str(runtime, input));
}

Value filter_indent(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  Text indention(std::string(4, ' '), true);
  if (bound[0] != nullptr) {
    if (bound[0]->is_string()) {
      indention = bound[0]->text();
    } else {
      const auto width = static_cast<size_t>(std::max<int64_t>(to_int64(*bound[0]), 0));
      runtime.charge_bytes(width);
      indention = Text(std::string(width, ' '), true);
    }
  }
  if (input.is_undefined()) {
    fail_undefined(input);
  }
  Text text = to_text(input, "indent");
  // The newline makes splitlines() keep a last empty line.
  text.append("\n", true);
  const bool blank = bound.flag(2, false);
  const std::vector<Text> lines = split_lines(text, false);
  runtime.charge_bytes(text.size());
  runtime.step(lines.size() * (1 + indention.size() / kBytesPerStep));
  Text out;
  if (bound.flag(1, false)) {
    out.append(indention);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      out.append("\n", true);
      if (blank || !lines[i].empty()) {
        out.append(indention);
      }
    }
    out.append(lines[i]);
  }
  return runtime.string(std::move(out));
}

Value filter_center(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("center", arguments, {"width"});
  Arguments method;
  method.positional.push_back(Value::integer(bound.integer(0, 80)));
  const Value text = runtime.string(str(runtime, input));
  return find_string_method("center")->function(runtime, text, method);
}

Value filter_truncate(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const int64_t length = bound.integer(0, 255);
  const Value end = bound[2] != nullptr ? *bound[2] : runtime.string("...");
  const int64_t leeway = bound[3] == nullptr || bound[3]->is_none() ? 5 : to_int64(*bound[3]);
  to_text(end, "truncate");
  if (length < length_of(end) || leeway < 0) {
    fail_type("truncate: length and leeway are too small");
  }
  if (length_of(input) <= length + leeway) {
    return input;
  }
  to_text(input, "truncate");
  SliceParts parts;
  parts.stop = Value::integer(length - length_of(end));
  Value kept = get_slice(runtime, input, parts);
  if (!bound.flag(1, false)) {
    const Value space = runtime.string(" ");
    kept = split_text_from_right(runtime, kept.text(), &space, 1).front();
  }
  return binary(runtime, BinaryOp::kAdd, kept, end);
}

Value filter_wordcount(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("wordcount", arguments, {});
  const Text text = str(runtime, input);
  int64_t words = 0;
  bool inside = false;
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded c = utf8::decode_valid(text.bytes().data() + i);
    const bool word = is_word(c.code_point);
    words += word && !inside ? 1 : 0;
    inside = word;
    i += c.length;
  }
  return Value::integer(words);
}

Value filter_format(Runtime& runtime, const Value& input, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    fail_type("can't handle positional and keyword arguments at the same time");
  }
  const Text text = str(runtime, input);
  if (arguments.named.empty()) {
    return format_percent(runtime, text, runtime.tuple(arguments.positional));
  }
  std::vector<DictObject::Item> items;
  items.reserve(arguments.named.size());
  for (const auto& [name, value] : arguments.named) {
    items.emplace_back(runtime.string(name), value);
  }
  return format_percent(runtime, text, runtime.dict(std::move(items)));
}

Value filter_escape(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("escape", arguments, {});
  const Text text = str(runtime, input);
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool origin = text.from_template_at(i);
    switch (text.bytes()[i]) {
      case '&':
        out.append("&amp;", origin);
        break;
      case '<':
        out.append("&lt;", origin);
        break;
      case '>':
        out.append("&gt;", origin);
        break;
      case '\'':
        out.append("&#39;", origin);
        break;
      case '"':
        out.append("&#34;", origin);
        break;
      default:
        out.append(text, i, i + 1);
    }
  }
  return runtime.string(std::move(out));
}

void append_url_quoted(const Text& text, bool query, Text& out) {
  constexpr std::string_view kUnreserved = "_.-~";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text.bytes()[i];
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       kUnreserved.find(c) != std::string_view::npos || (c == '/' && !query);
    if (plain) {
      out.append(text, i, i + 1);
    } else if (c == ' ' && query) {
      out.append("+", text.from_template_at(i));
    } else {
      out.append(fmt::format("%{:02X}", static_cast<unsigned char>(c)), text.from_template_at(i));
    }
  }
}

Value filter_urlencode(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("urlencode", arguments, {});
  Text out;
  if (input.is_string() || !is_iterable(input)) {
    append_url_quoted(str(runtime, input), false, out);
    return runtime.string(std::move(out));
  }
  std::vector<Value> pairs;
  if (input.is(Kind::kDict)) {
    for (const auto& [key, value] : input.get<DictObject>().items) {
      pairs.push_back(runtime.tuple({key, value}));
    }
  } else {
    pairs = collect(runtime, input);
  }
  bool first = true;
  for (const Value& pair : pairs) {
    const std::vector<Value> parts = collect(runtime, pair);
    if (parts.size() != 2) {
      fail_type(fmt::format("expected a pair, got {} values", parts.size()));
    }
    out.append(first ? "" : "&", true);
    first = false;
    append_url_quoted(str(runtime, parts[0]), true, out);
    out.append("=", true);
    append_url_quoted(str(runtime, parts[1]), true, out);
  }
  return runtime.string(std::move(out));
}

constexpr FilterEntry kFilters[] = {
    {"upper", filter_upper},
    {"lower", filter_lower},
    {"capitalize", filter_capitalize},
    {"title", filter_title},
    {"trim", filter_trim},
    {"replace", filter_replace},
    {"join", filter_join},
    {"string", filter_string},
    {"safe", filter_string},
    {"indent", filter_indent},
    {"center", filter_center},
    {"truncate", filter_truncate},
    {"wordcount", filter_wordcount},
    {"format", filter_format},
    {"escape", filter_escape},
    {"e", filter_escape},
    {"forceescape", filter_escape},
    {"urlencode", filter_urlencode},
};

}  // namespace

const FilterEntry* find_text_filter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [name](const FilterEntry& entry) { return entry.name == name; });
  return found == std::end(kFilters) ? nullptr : found;
}

}  // namespace deltaserve::jinja
