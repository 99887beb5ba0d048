// Conversion between request JSON and the template's values. Written JSON keeps the origin of its
// strings; punctuation belongs to whoever made the container.
#include "chat/jinja_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"
#include "chat/jinja_unicode.h"

namespace deltaserve::jinja {
namespace {

class Writer {
 public:
  Writer(Runtime& runtime, const JsonStyle& style) : runtime_(runtime), style_(style) {}

  void write(const Value& value, size_t level);
  Text take() { return std::move(out_); }

 private:
  void write_list(const ListObject& list, size_t level);
  void write_dict(const DictObject& dict, size_t level);
  void write_key(const Value& key, bool from_template);
  void write_string(const Text& text);
  void write_escape(char32_t c, bool from_template);
  void break_line(size_t level, bool from_template);
  static std::string float_text(double value);

  Runtime& runtime_;
  const JsonStyle& style_;
  Text out_;
};

void Writer::break_line(size_t level, bool from_template) {
  if (!style_.indent) {
    return;
  }
  out_.append("\n", from_template);
  runtime_.step(level);
  for (size_t i = 0; i < level; ++i) {
    out_.append(*style_.indent, from_template);
  }
  runtime_.charge_bytes(level * style_.indent->size());
}

std::string Writer::float_text(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "Infinity" : "-Infinity";
  }
  return json::python_float(value);
}

void Writer::write_escape(char32_t c, bool from_template) {
  switch (c) {
    case '"':
      out_.append("\\\"", from_template);
      return;
    case '\\':
      out_.append("\\\\", from_template);
      return;
    case '\n':
      out_.append("\\n", from_template);
      return;
    case '\r':
      out_.append("\\r", from_template);
      return;
    case '\t':
      out_.append("\\t", from_template);
      return;
    case '\f':
      out_.append("\\f", from_template);
      return;
    case '\b':
      out_.append("\\b", from_template);
      return;
    default:
      break;
  }
  auto value = static_cast<uint32_t>(c);
  if (value > 0xFFFF) {
    value -= 0x10000;
    out_.append(fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (value >> 10), 0xDC00 + (value & 0x3FF)),
                from_template);
  } else {
    out_.append(fmt::format("\\u{:04x}", value), from_template);
  }
}

void Writer::write_string(const Text& text) {
  const std::string_view bytes = text.bytes();
  runtime_.charge_bytes(bytes.size());
  out_.append("\"", text.from_template_at(0));
  size_t copied = 0;
  for (size_t i = 0; i < bytes.size();) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const bool escapes =
        byte < 0x20 || byte == '"' || byte == '\\' || (style_.ensure_ascii && (byte >= 0x80));
    if (!escapes) {
      ++i;
      continue;
    }
    out_.append(text, copied, i);
    const utf8::Decoded c = utf8::decode_valid(bytes.data() + i);
    write_escape(c.code_point, text.from_template_at(i));
    i += c.length;
    copied = i;
  }
  out_.append(text, copied, bytes.size());
  out_.append("\"", text.from_template_at(bytes.empty() ? 0 : bytes.size() - 1));
}

void Writer::write_list(const ListObject& list, size_t level) {
  if (list.items.empty()) {
    out_.append("[]", list.from_template);
    return;
  }
  out_.append("[", list.from_template);
  bool first = true;
  for (const Value& item : list.items) {
    if (!first) {
      out_.append(style_.item_separator, list.from_template);
    }
    first = false;
    break_line(level + 1, list.from_template);
    write(item, level + 1);
  }
  break_line(level, list.from_template);
  out_.append("]", list.from_template);
}

void Writer::write_key(const Value& key, bool from_template) {
  switch (key.kind()) {
    case Kind::kString:
      write_string(key.text());
      return;
    case Kind::kNone:
      out_.append("\"null\"", from_template);
      return;
    case Kind::kBool:
      out_.append(key.as_bool() ? "\"true\"" : "\"false\"", from_template);
      return;
    case Kind::kInt:
      out_.append(fmt::format("\"{}\"", int_to_string(key.as_int())), from_template);
      return;
    case Kind::kFloat:
      out_.append(fmt::format("\"{}\"", float_text(key.as_float())), from_template);
      return;
    default:
      fail_type(fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
  }
}

void Writer::write_dict(const DictObject& dict, size_t level) {
  if (dict.items.empty()) {
    out_.append("{}", dict.from_template);
    return;
  }
  std::vector<const DictObject::Item*> items;
  items.reserve(dict.items.size());
  for (const auto& item : dict.items) {
    items.push_back(&item);
  }
  if (style_.sort_keys) {
    std::stable_sort(items.begin(), items.end(), [this](const auto* a, const auto* b) {
      return less(runtime_, a->first, b->first);
    });
  }
  out_.append("{", dict.from_template);
  bool first = true;
  for (const auto* item : items) {
    if (!first) {
      out_.append(style_.item_separator, dict.from_template);
    }
    first = false;
    break_line(level + 1, dict.from_template);
    write_key(item->first, dict.from_template);
    out_.append(style_.key_separator, dict.from_template);
    write(item->second, level + 1);
  }
  break_line(level, dict.from_template);
  out_.append("}", dict.from_template);
}

void Writer::write(const Value& value, size_t level) {
  runtime_.step();
  if (out_.size() > kMaxTextBytes) {
    runtime_.charge_bytes(out_.size());
  }
  switch (value.kind()) {
    case Kind::kNone:
      out_.append("null", value.from_template());
      return;
    case Kind::kBool:
      out_.append(value.as_bool() ? "true" : "false", value.from_template());
      return;
    case Kind::kInt:
      out_.append(int_to_string(value.as_int()), value.from_template());
      return;
    case Kind::kFloat:
      out_.append(float_text(value.as_float()), value.from_template());
      return;
    case Kind::kString:
      write_string(value.text());
      return;
    case Kind::kList:
    case Kind::kTuple:
      write_list(value.get<ListObject>(), level);
      return;
    case Kind::kDict:
      write_dict(value.get<DictObject>(), level);
      return;
    default:
      fail_type(fmt::format("Object of type {} is not JSON serializable", type_name(value)));
  }
}

}  // namespace

Value from_json(Runtime& runtime, const json::Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return Value::none(false);
    case boost::json::kind::bool_:
      return Value::boolean(value.get_bool(), false);
    case boost::json::kind::int64:
      return Value::integer(value.get_int64(), false);
    case boost::json::kind::uint64:
      return Value::integer(value.get_uint64(), false);
    case boost::json::kind::double_:
      return Value::floating(value.get_double(), false);
    case boost::json::kind::string:
      return runtime.string(Text(std::string(std::string_view(value.get_string())), false));
    case boost::json::kind::array: {
      std::vector<Value> items;
      items.reserve(value.get_array().size());
      for (const json::Value& item : value.get_array()) {
        items.push_back(from_json(runtime, item));
      }
      return runtime.list(std::move(items), false);
    }
    case boost::json::kind::object: {
      std::vector<DictObject::Item> items;
      items.reserve(value.get_object().size());
      for (const auto& [key, item] : value.get_object()) {
        items.emplace_back(runtime.string(Text(std::string(key), false)), from_json(runtime, item));
      }
      return runtime.dict(std::move(items), false);
    }
  }
  return {};
}

Text to_json(Runtime& runtime, const Value& value, const JsonStyle& style) {
  Writer writer(runtime, style);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace deltaserve::jinja
