// Methods of str that search, cut, join and compare.
#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja_access.h"
#include "chat/jinja_builtins.h"
#include "chat/jinja_format.h"
#include "chat/jinja_methods.h"
#include "chat/jinja_methods_string.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_unicode.h"

namespace deltaserve::jinja {
namespace {

template <bool kLeft, bool kRight>
Value strip(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("strip", arguments, {""});
  return runtime.string(strip_text(self.text(), bound[0], kLeft, kRight));
}

template <bool kFromRight>
Value split(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("split", arguments, {"sep", "maxsplit"});
  const int64_t limit = bound.integer(1, -1);
  return runtime.list(kFromRight ? split_text_from_right(runtime, self.text(), bound[0], limit)
                                 : split_text(runtime, self.text(), bound[0], limit));
}

Value split_into_lines(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("splitlines", arguments, {"keepends"});
  runtime.charge_bytes(self.text().size());
  std::vector<Value> lines;
  for (Text& line : split_lines(self.text(), bound.flag(0, false))) {
    lines.push_back(runtime.string(std::move(line)));
  }
  return runtime.list(std::move(lines));
}

// text[start:end] in bytes, as the optional arguments of find() and its kin give it; nullopt if
// start lies beyond the end.
std::optional<ByteRange> search_range(const Value& self, const Value* start, const Value* end) {
  const auto& string = self.get<StringObject>();
  const auto length = static_cast<int64_t>(string.length);
  const auto place = [length](const Value* value, int64_t absent) {
    if (value == nullptr || value->is_none()) {
      return absent;
    }
    const int64_t index = to_int64(*value);
    return index < 0 ? std::max<int64_t>(index + length, 0) : index;
  };
  const int64_t first = place(start, 0);
  const int64_t last = std::min(place(end, length), length);
  if (first > last) {
    return std::nullopt;
  }
  const std::string_view bytes = self.bytes();
  if (string.ascii()) {
    return ByteRange{static_cast<size_t>(first), static_cast<size_t>(last)};
  }
  return ByteRange{byte_offset(bytes, static_cast<size_t>(first)),
                   byte_offset(bytes, static_cast<size_t>(last))};
}

// Byte offset of the first or last occurrence inside the range; npos if there is none.
size_t search(Runtime& runtime, const Value& self, const Bound& bound, bool from_right) {
  const std::string& needle = to_text(*bound[0], "find").bytes();
  const auto range = search_range(self, bound[1], bound[2]);
  runtime.charge_bytes(self.text().size());
  if (!range) {
    return std::string::npos;
  }
  const std::string_view part = self.bytes().substr(range->begin, range->end - range->begin);
  if (!from_right) {
    const size_t at = find_text(part, needle);
    return at == std::string_view::npos ? at : at + range->begin;
  }
  // From the right is from the left in mirrored texts.
  const size_t at = find_text(std::string(part.rbegin(), part.rend()),
                              std::string(needle.rbegin(), needle.rend()));
  return at == std::string_view::npos ? at : range->end - at - needle.size();
}

template <bool kFromRight, bool kMustFind>
Value find(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("find", arguments, {"", "", ""}, 1);
  const size_t at = search(runtime, self, bound, kFromRight);
  if (at == std::string::npos) {
    if (kMustFind) {
      fail_type("substring not found");
    }
    return Value::integer(-1);
  }
  return Value::integer(static_cast<int64_t>(count_code_points(self.bytes().substr(0, at))));
}

Value count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("count", arguments, {"", "", ""}, 1);
  const std::string& needle = to_text(*bound[0], "count").bytes();
  const auto range = search_range(self, bound[1], bound[2]);
  runtime.charge_bytes(self.text().size());
  if (!range) {
    return Value::integer(0);
  }
  const std::string_view part = self.bytes().substr(range->begin, range->end - range->begin);
  if (needle.empty()) {
    return Value::integer(static_cast<int64_t>(count_code_points(part)) + 1);
  }
  int64_t found = 0;
  for (size_t at = find_text(part, needle); at != std::string_view::npos;
       at = find_text(part, needle, at + needle.size())) {
    ++found;
  }
  return Value::integer(found);
}

template <bool kAtStart>
Value affix(Runtime& /*runtime*/, const Value& self, const Arguments& arguments) {
  const std::string_view name = kAtStart ? "startswith" : "endswith";
  const Bound bound(name, arguments, {"", "", ""}, 1);
  const auto range = search_range(self, bound[1], bound[2]);
  const auto matches = [&](const Value& candidate) {
    const std::string& text = to_text(candidate, name).bytes();
    if (!range) {
      return false;
    }
    const std::string_view part = self.bytes().substr(range->begin, range->end - range->begin);
    return kAtStart ? part.starts_with(text) : part.ends_with(text);
  };
  if (bound[0]->is(Kind::kTuple)) {
    const auto& candidates = bound[0]->get<ListObject>().items;
    return Value::boolean(std::any_of(candidates.begin(), candidates.end(), matches));
  }
  if (!bound[0]->is_string()) {
    fail_type(fmt::format("{} first arg must be str or a tuple of str, not {}", name,
                          type_name(*bound[0])));
  }
  return Value::boolean(matches(*bound[0]));
}

template <bool kPrefix>
Value remove_affix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("removeprefix", arguments, {""}, 1);
  const std::string& text = to_text(*bound[0], "removeprefix").bytes();
  const std::string_view bytes = self.bytes();
  if (text.empty() || !(kPrefix ? bytes.starts_with(text) : bytes.ends_with(text))) {
    return self;
  }
  const size_t begin = kPrefix ? text.size() : 0;
  const size_t end = bytes.size() - (kPrefix ? 0 : text.size());
  return runtime.string(self.text().slice(begin, end));
}

Value replace(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"", "", ""}, 2);
  return runtime.string(replace_text(runtime, self.text(), to_text(*bound[0], "replace"),
                                     to_text(*bound[1], "replace"), bound.integer(2, -1)));
}

Value join(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("join", arguments, {""}, 1);
  const std::unique_ptr<Cursor> cursor = iterate(runtime, *bound[0]);
  Text out;
  Value item;
  bool first = true;
  while (cursor->next(item)) {
    if (!item.is_string()) {
      fail_type(fmt::format("sequence item: expected str instance, {} found", type_name(item)));
    }
    if (!first) {
      out.append(self.text());
    }
    first = false;
    runtime.charge_bytes(out.size() > kMaxTextBytes ? out.size() : item.text().size());
    out.append(item.text());
  }
  return runtime.string(std::move(out));
}

template <bool kFromRight>
Value partition(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Bound bound("partition", arguments, {""}, 1);
  const Text& text = self.text();
  const Text& mark = to_text(*bound[0], "partition");
  if (mark.empty()) {
    fail_type("empty separator");
  }
  Arguments needle;
  needle.positional.push_back(*bound[0]);
  const size_t at = search(runtime, self, Bound("find", needle, {"", "", ""}, 1), kFromRight);
  if (at == std::string::npos) {
    const Value empty = runtime.string("");
    return kFromRight ? runtime.tuple({empty, empty, self}) : runtime.tuple({self, empty, empty});
  }
  return runtime.tuple({runtime.string(text.slice(0, at)), *bound[0],
                        runtime.string(text.slice(at + mark.size(), text.size()))});
}

Value format(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return format_braces(runtime, self.text(), arguments);
}

constexpr MethodEntry kMethods[] = {
    {"strip", strip<true, true>},
    {"lstrip", strip<true, false>},
    {"rstrip", strip<false, true>},
    {"split", split<false>},
    {"rsplit", split<true>},
    {"splitlines", split_into_lines},
    {"find", find<false, false>},
    {"rfind", find<true, false>},
    {"index", find<false, true>},
    {"rindex", find<true, true>},
    {"count", count},
    {"startswith", affix<true>},
    {"endswith", affix<false>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replace},
    {"join", join},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"format", format},
};

}  // namespace

const MethodEntry* find_string_method(std::string_view name) {
  const auto* found = std::find_if(std::begin(kMethods), std::end(kMethods),
                                   [name](const MethodEntry& entry) { return entry.name == name; });
  return found != std::end(kMethods) ? found : find_string_form_method(name);
}

}  // namespace deltaserve::jinja
