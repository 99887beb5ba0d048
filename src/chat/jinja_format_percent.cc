// "%s and %05.1f" % (a, b).
#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja_access.h"
#include "chat/jinja_builtins.h"
#include "chat/jinja_format.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"
#include "text/utf8.h"

namespace deltaserve::jinja {
namespace {

class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, const Text& format, const Value& arguments)
      : runtime_(runtime), format_(format), bytes_(format.bytes()), arguments_(arguments) {
    if (arguments.is(Kind::kTuple)) {
      items_ = arguments.get<ListObject>().items;
    } else {
      items_.push_back(arguments);
      // What can be subscripted may stay unused, as in CPython.
      may_stay_unused_ = arguments.is(Kind::kList) || arguments.is(Kind::kDict) ||
                         arguments.is(Kind::kRange) || arguments.is_undefined();
    }
  }

  Text run() {
    while (position_ < bytes_.size()) {
      const size_t mark = std::min(bytes_.find('%', position_), bytes_.size());
      out_.append(format_, position_, mark);
      position_ = mark;
      if (position_ < bytes_.size()) {
        ++position_;
        convert();
      }
    }
    if (next_ < items_.size() && !may_stay_unused_) {
      fail_type("not all arguments converted during string formatting");
    }
    return std::move(out_);
  }

 private:
  char peek() const {
    if (position_ >= bytes_.size()) {
      fail_type("incomplete format");
    }
    return bytes_[position_];
  }

  const Value& next_argument() {
    if (next_ >= items_.size()) {
      fail_type("not enough arguments for format string");
    }
    return items_[next_++];
  }

  int64_t read_count() {
    if (peek() == '*') {
      ++position_;
      return to_int64(next_argument());
    }
    int64_t count = 0;
    while (peek() >= '0' && peek() <= '9') {
      count = count * 10 + (peek() - '0');
      if (count > static_cast<int64_t>(kMaxTextBytes)) {
        fail_type("width too big");
      }
      ++position_;
    }
    return count;
  }

  Value read_key() {
    const size_t begin = ++position_;
    int depth = 1;
    while (depth > 0) {
      depth += peek() == '(' ? 1 : (peek() == ')' ? -1 : 0);
      ++position_;
    }
    if (arguments_.is_undefined()) {
      fail_undefined(arguments_);
    }
    if (!arguments_.is(Kind::kDict)) {
      fail_type("format requires a mapping");
    }
    const std::string key(bytes_.substr(begin, position_ - 1 - begin));
    const Value* value = arguments_.get<DictObject>().find(key);
    if (value == nullptr) {
      fail_type(quote(key));
    }
    return *value;
  }

  void read_flags(FormatSpec& spec) {
    bool zero = false;
    for (bool more = true; more;) {
      switch (peek()) {
        case '-':
          spec.align = '<';
          break;
        case '+':
          spec.sign = '+';
          break;
        case ' ':
          spec.sign = spec.sign == '+' ? '+' : ' ';
          break;
        case '#':
          spec.alternate = true;
          break;
        case '0':
          zero = true;
          break;
        default:
          more = false;
      }
      position_ += more ? 1 : 0;
    }
    if (zero && spec.align == '\0') {
      spec.align = '=';
      spec.fill = std::string("0");
    }
  }

  void convert() {
    FormatSpec spec;
    std::optional<Value> keyed;
    if (peek() == '(') {
      keyed = read_key();
      may_stay_unused_ = true;
    }
    read_flags(spec);
    spec.width = read_count();
    if (spec.width < 0) {
      spec.align = '<';
      spec.fill = std::string(" ");
      spec.width = -spec.width;
    }
    if (peek() == '.') {
      ++position_;
      spec.precision = static_cast<int>(std::clamp<int64_t>(read_count(), 0, 1 << 30));
    }
    while (peek() == 'h' || peek() == 'l' || peek() == 'L') {
      ++position_;
    }
    spec.type = peek();
    const bool origin = format_.from_template_at(position_);
    ++position_;
    if (spec.type == '%') {
      out_.append("%", origin);
      return;
    }
    append_converted(keyed ? *keyed : next_argument(), spec, origin);
  }

  void append_converted(const Value& value, FormatSpec& spec, bool origin) {
    const bool is_text =
        spec.type == 's' || spec.type == 'r' || spec.type == 'a' || spec.type == 'c';
    if (is_text && spec.align == '=') {
      spec.align = '>';
      spec.fill = std::string(" ");
    } else if (is_text && spec.align == '\0') {
      spec.align = '>';
    }
    out_.append(pad_to_width(runtime_, convert_value(value, spec), spec, true, origin));
  }

  Text convert_value(const Value& value, const FormatSpec& spec) {
    switch (spec.type) {
      case 's':
      case 'r': {
        Text text;
        if (spec.type == 's') {
          append_str(runtime_, value, text);
        } else {
          append_repr(runtime_, value, text);
        }
        if (!spec.precision) {
          return text;
        }
        SliceParts parts;
        parts.stop = Value::integer(*spec.precision);
        return get_slice(runtime_, runtime_.string(std::move(text)), parts).text();
      }
      case 'c':
        return convert_character(value);
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return convert_integer(value, spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (value.is_undefined()) {
          fail_undefined(value);
        }
        if (!value.is_number()) {
          fail_type(fmt::format("must be real number, not {}", type_name(value)));
        }
        return Text(format_float(value.as_float(), spec), value.from_template());
      default:
        fail_type(fmt::format("unsupported format character '{}'", spec.type));
    }
  }

  static Text convert_character(const Value& value) {
    if (value.is_string() && value.get<StringObject>().length == 1) {
      return value.text();
    }
    if (!value.is_integral()) {
      fail_type("%c requires int or char");
    }
    const Int code = value.as_int();
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
      fail_type("%c arg not in range(0x110000)");
    }
    std::string bytes;
    utf8::append(bytes, static_cast<char32_t>(code));
    return Text(std::move(bytes), value.from_template());
  }

  static Text convert_integer(const Value& value, const FormatSpec& spec) {
    if (value.is_undefined()) {
      fail_undefined(value);
    }
    const bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    // 2^127 bounds Int.
    const bool whole = decimal && value.is(Kind::kFloat) &&
                       std::abs(value.as_float()) < 170141183460469231731687303715884105728.0;
    if (!value.is_integral() && !whole) {
      fail_type(fmt::format("%{} format: a real number is required, not {}", spec.type,
                            type_name(value)));
    }
    const Int number = value.is_integral() ? value.as_int() : static_cast<Int>(value.as_float());
    std::string digits = format_integer(number, spec);
    const size_t sign = digits.find_first_of("0123456789abcdefABCDEF") == 0 ? 0 : 1;
    const size_t length = digits.size() - sign;
    if (spec.precision && static_cast<size_t>(*spec.precision) > length) {
      if (static_cast<size_t>(*spec.precision) > kMaxTextBytes) {
        fail_type("precision too big");
      }
      digits.insert(sign, std::string(static_cast<size_t>(*spec.precision) - length, '0'));
    }
    return Text(std::move(digits), value.from_template());
  }

  Runtime& runtime_;
  const Text& format_;
  std::string_view bytes_;
  const Value& arguments_;
  std::vector<Value> items_;
  size_t next_ = 0;
  bool may_stay_unused_ = false;
  size_t position_ = 0;
  Text out_;
};

}  // namespace

Value format_percent(Runtime& runtime, const Text& format, const Value& arguments) {
  runtime.charge_bytes(format.size());
  return runtime.string(PercentFormatter(runtime, format, arguments).run());
}

}  // namespace deltaserve::jinja
