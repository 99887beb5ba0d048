// Methods of str about case, character classes and padding.
#include "chat/jinja_methods_string.h"

#include <algorithm>

#include "chat/jinja_builtins.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_unicode.h"

namespace deltaserve::jinja {
namespace {

template <bool kUpper>
Value to_case(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("upper", arguments, {});
  return runtime.string(map_case(self.text(), kUpper));
}

Value casefold(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("casefold", arguments, {});
  const Text& text = self.text();
  Text out;
  std::string piece;
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded c = utf8::decode_valid(text.bytes().data() + i);
    piece.clear();
    append_casefold(piece, c.code_point);
    out.append(piece, text.from_template_at(i));
    i += c.length;
  }
  return runtime.string(std::move(out));
}

Value capitalize(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("capitalize", arguments, {});
  return runtime.string(capitalize_text(self.text()));
}

// The first cased character of every word in title case; a word is a run of cased characters.
Value title(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("title", arguments, {});
  const Text& text = self.text();
  Text out;
  bool previous_cased = false;
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded c = utf8::decode_valid(text.bytes().data() + i);
    std::string piece;
    if (previous_cased) {
      append_lower(piece, c.code_point, c.code_point == 0x3A3 && is_final_sigma(text.bytes(), i));
    } else {
      append_title(piece, c.code_point);
    }
    out.append(piece, text.from_template_at(i));
    previous_cased = is_cased(c.code_point);
    i += c.length;
  }
  return runtime.string(std::move(out));
}

Value swap_case(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("swapcase", arguments, {});
  const Text& text = self.text();
  Text out;
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded c = utf8::decode_valid(text.bytes().data() + i);
    std::string piece;
    if (is_upper(c.code_point)) {
      append_lower(piece, c.code_point, c.code_point == 0x3A3 && is_final_sigma(text.bytes(), i));
    } else {
      append_upper(piece, c.code_point);
    }
    out.append(piece, text.from_template_at(i));
    i += c.length;
  }
  return runtime.string(std::move(out));
}

// Whether the text is not empty and all its characters are of a class.
template <bool (*kClass)(char32_t)>
Value all_of_class(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("isalpha", arguments, {});
  const std::string_view bytes = self.bytes();
  runtime.charge_bytes(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    const utf8::Decoded c = utf8::decode_valid(bytes.data() + i);
    if (!kClass(c.code_point)) {
      return Value::boolean(false);
    }
    i += c.length;
  }
  return Value::boolean(!bytes.empty());
}

Value is_ascii(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const Bound bound("isascii", arguments, {});
  return Value::boolean(self.get<StringObject>().ascii());
}

template <bool kUpper>
Value is_case(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("isupper", arguments, {});
  return Value::boolean(find_test(kUpper ? "upper" : "lower")->call(runtime, self, Arguments{}));
}

Value is_title_case(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const Bound bound("istitle", arguments, {});
  const std::string_view bytes = self.bytes();
  bool cased = false;
  bool previous_cased = false;
  for (size_t i = 0; i < bytes.size();) {
    const utf8::Decoded c = utf8::decode_valid(bytes.data() + i);
    const bool opens = is_upper(c.code_point) || is_title(c.code_point);
    if (opens ? previous_cased : (is_lower(c.code_point) && !previous_cased)) {
      return Value::boolean(false);
    }
    previous_cased = is_cased(c.code_point);
    cased = cased || previous_cased;
    i += c.length;
  }
  return Value::boolean(cased);
}

struct Padding {
  size_t left;
  size_t right;
};

Value pad(Runtime& runtime, const Value& self, const Value* fill, const Padding& padding) {
  Text filler(" ", true);
  if (fill != nullptr) {
    filler = to_text(*fill, "center");
    if (count_code_points(filler.bytes()) != 1) {
      fail_type("The fill character must be exactly one character long");
    }
  }
  runtime.charge_bytes((padding.left + padding.right) * filler.size());
  Text out;
  const auto repeat = [&](size_t times) {
    runtime.step(times);
    for (size_t i = 0; i < times; ++i) {
      out.append(filler);
    }
  };
  repeat(padding.left);
  out.append(self.text());
  repeat(padding.right);
  return runtime.string(std::move(out));
}

enum class Align : uint8_t { kLeft, kRight, kCenter };

template <Align kAlign>
Value justify(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("center", arguments, {"", ""}, 1);
  const int64_t width = to_int64(*bound[0]);
  const auto length = static_cast<int64_t>(self.get<StringObject>().length);
  if (width <= length) {
    return self;
  }
  const int64_t missing = width - length;
  if (missing > static_cast<int64_t>(kMaxTextBytes)) {
    runtime.charge_bytes(kMaxTextBytes + 1);
  }
  Padding padding{0, 0};
  if (kAlign == Align::kLeft) {
    padding.right = static_cast<size_t>(missing);
  } else if (kAlign == Align::kRight) {
    padding.left = static_cast<size_t>(missing);
  } else {
    // CPython's rule for an odd rest.
    padding.left = static_cast<size_t>(missing / 2 + (missing & width & 1));
    padding.right = static_cast<size_t>(missing) - padding.left;
  }
  return pad(runtime, self, bound[1], padding);
}

Value zero_fill(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("zfill", arguments, {""}, 1);
  const int64_t missing =
      to_int64(*bound[0]) - static_cast<int64_t>(self.get<StringObject>().length);
  if (missing <= 0) {
    return self;
  }
  runtime.charge_bytes(static_cast<size_t>(missing));
  const Text& text = self.text();
  const bool sign = !text.empty() && (text.bytes()[0] == '-' || text.bytes()[0] == '+');
  Text out;
  out.append(text, 0, sign ? 1 : 0);
  out.append(std::string(static_cast<size_t>(missing), '0'), true);
  out.append(text, sign ? 1 : 0, text.size());
  return runtime.string(std::move(out));
}

constexpr MethodEntry kMethods[] = {
    {"upper", to_case<true>},
    {"lower", to_case<false>},
    {"casefold", casefold},
    {"capitalize", capitalize},
    {"title", title},
    {"swapcase", swap_case},
    {"isalpha", all_of_class<is_alpha>},
    {"isdigit", all_of_class<is_digit>},
    {"isdecimal", all_of_class<is_decimal>},
    {"isnumeric", all_of_class<is_numeric>},
    {"isalnum", all_of_class<is_alphanumeric>},
    {"isspace", all_of_class<is_space>},
    {"isascii", is_ascii},
    {"isupper", is_case<true>},
    {"islower", is_case<false>},
    {"istitle", is_title_case},
    {"ljust", justify<Align::kLeft>},
    {"rjust", justify<Align::kRight>},
    {"center", justify<Align::kCenter>},
    {"zfill", zero_fill},
};

}  // namespace

const MethodEntry* find_string_form_method(std::string_view name) {
  const auto* found = std::find_if(std::begin(kMethods), std::end(kMethods),
                                   [name](const MethodEntry& entry) { return entry.name == name; });
  return found == std::end(kMethods) ? nullptr : found;
}

}  // namespace deltaserve::jinja
