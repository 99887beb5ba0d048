// str() and repr(), keeping the origin of every character: brackets and quotes belong to whoever
// wrote the container.
#include "chat/jinja_print.h"

#include <fmt/format.h>

#include "chat/jinja_loop.h"
#include "chat/jinja_macro.h"
#include "chat/jinja_unicode.h"
#include "json/json.h"

namespace deltaserve::jinja {
namespace {

void append_quoted_code_point(std::string& out, char32_t c, char quote_mark) {
  switch (c) {
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (c == static_cast<char32_t>(quote_mark)) {
    out.push_back('\\');
    out.push_back(quote_mark);
  } else if (is_printable(c)) {
    utf8::append(out, c);
  } else if (c <= 0xFF) {
    out += fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
  } else if (c <= 0xFFFF) {
    out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
  } else {
    out += fmt::format("\\U{:08x}", static_cast<uint32_t>(c));
  }
}

char quote_mark_for(std::string_view text) {
  return text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos
             ? '"'
             : '\'';
}

void append_quoted(Runtime& runtime, const Text& text, Text& out) {
  const std::string_view bytes = text.bytes();
  runtime.charge_bytes(bytes.size());
  const char mark = quote_mark_for(bytes);
  out.append(std::string_view(&mark, 1), text.from_template_at(0));
  std::string piece;
  for (size_t i = 0; i < bytes.size();) {
    const utf8::Decoded c = utf8::decode_valid(bytes.data() + i);
    piece.clear();
    append_quoted_code_point(piece, c.code_point, mark);
    out.append(piece, text.from_template_at(i));
    i += c.length;
  }
  out.append(std::string_view(&mark, 1), text.from_template_at(0));
}

void append_items(Runtime& runtime, const ListObject& list, std::string_view open,
                  std::string_view close, Text& out) {
  out.append(open, list.from_template);
  bool first = true;
  for (const Value& item : list.items) {
    if (!first) {
      out.append(", ", list.from_template);
    }
    first = false;
    append_repr(runtime, item, out);
  }
  out.append(close, list.from_template);
}

void append_dict(Runtime& runtime, const DictObject& dict, Text& out) {
  out.append("{", dict.from_template);
  bool first = true;
  for (const auto& [key, value] : dict.items) {
    if (!first) {
      out.append(", ", dict.from_template);
    }
    first = false;
    append_repr(runtime, key, out);
    out.append(": ", dict.from_template);
    append_repr(runtime, value, out);
  }
  out.append("}", dict.from_template);
}

void append_namespace(Runtime& runtime, const NamespaceObject& object, Text& out) {
  out.append("<Namespace {", true);
  bool first = true;
  for (const auto& [name, value] : object.attributes) {
    out.append(first ? "" : ", ", true);
    first = false;
    out.append(quote(name) + ": ", true);
    append_repr(runtime, value, out);
  }
  out.append("}>", true);
}

void append_range(const RangeObject& range, Text& out) {
  out.append(range.step == 1
                 ? fmt::format("range({}, {})", range.start, range.stop)
                 : fmt::format("range({}, {}, {})", range.start, range.stop, range.step),
             true);
}

}  // namespace

std::string int_to_string(Int value) {
  return fmt::format("{}", value);
}

std::string quote(std::string_view text) {
  const char mark = quote_mark_for(text);
  std::string out(1, mark);
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded c = utf8::decode_valid(text.data() + i);
    append_quoted_code_point(out, c.code_point, mark);
    i += c.length;
  }
  out.push_back(mark);
  return out;
}

void append_repr(Runtime& runtime, const Value& value, Text& out) {
  const Runtime::DepthGuard guard(runtime);
  runtime.step();
  if (out.size() > kMaxTextBytes) {
    runtime.charge_bytes(out.size());
  }
  switch (value.kind()) {
    case Kind::kUndefined:
      out.append("Undefined", true);
      return;
    case Kind::kNone:
      out.append("None", value.from_template());
      return;
    case Kind::kBool:
      out.append(value.as_bool() ? "True" : "False", value.from_template());
      return;
    case Kind::kInt:
      out.append(int_to_string(value.as_int()), value.from_template());
      return;
    case Kind::kFloat:
      out.append(json::python_float(value.as_float()), value.from_template());
      return;
    case Kind::kString:
      append_quoted(runtime, value.text(), out);
      return;
    case Kind::kList:
      append_items(runtime, value.get<ListObject>(), "[", "]", out);
      return;
    case Kind::kTuple: {
      const auto& tuple = value.get<ListObject>();
      append_items(runtime, tuple, "(", tuple.items.size() == 1 ? ",)" : ")", out);
      return;
    }
    case Kind::kDictView: {
      const auto& view = value.get<ListObject>();
      append_items(runtime, view, std::string(view.view_name) + "([", "])", out);
      return;
    }
    case Kind::kDict:
      append_dict(runtime, value.get<DictObject>(), out);
      return;
    case Kind::kRange:
      append_range(value.get<RangeObject>(), out);
      return;
    case Kind::kNamespace:
      append_namespace(runtime, value.get<NamespaceObject>(), out);
      return;
    case Kind::kLoop: {
      auto& loop = value.get<LoopObject>();
      out.append(fmt::format("<LoopContext {}/{}>", loop.index0 + 1, loop.length()), true);
      return;
    }
    case Kind::kMacro: {
      const std::string_view name = macro_name(value.get<MacroObject>());
      out.append(fmt::format("<Macro {}>", name.empty() ? "anonymous" : quote(name)), true);
      return;
    }
    default:
      out.append(fmt::format("<{}>", type_description(value)), true);
  }
}

void append_str(Runtime& runtime, const Value& value, Text& out) {
  if (value.is_string()) {
    runtime.charge_bytes(value.text().size());
    out.append(value.text());
  } else if (!value.is_undefined()) {
    append_repr(runtime, value, out);
  }
}

Text str(Runtime& runtime, const Value& value) {
  Text out;
  append_str(runtime, value, out);
  return out;
}

std::string repr(Runtime& runtime, const Value& value) {
  Text out;
  append_repr(runtime, value, out);
  return out.bytes();
}

}  // namespace deltaserve::jinja
