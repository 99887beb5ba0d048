// Argument binding and the helpers that several filters share.
#include "chat/jinja_builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "chat/jinja_access.h"
#include "chat/jinja_methods.h"
#include "chat/jinja_number.h"
#include "chat/jinja_operators.h"

namespace deltaserve::jinja {

const FilterEntry* find_filter(std::string_view name) {
  for (const auto find :
       {find_text_filter, find_sequence_filter, find_selection_filter, find_value_filter}) {
    if (const FilterEntry* entry = find(name)) {
      return entry;
    }
  }
  return nullptr;
}

Bound::Bound(std::string_view function, const Arguments& arguments,
             std::initializer_list<std::string_view> parameters, size_t required)
    : function_(function) {
  if (arguments.positional.size() > parameters.size()) {
    fail_type(fmt::format("{}() takes at most {} argument(s) ({} given)", function,
                          parameters.size(), arguments.positional.size()));
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    values_[i] = &arguments.positional[i];
  }
  for (const auto& [name, value] : arguments.named) {
    const auto* found = std::find(parameters.begin(), parameters.end(), name);
    if (found == parameters.end() || found->empty()) {
      fail_type(fmt::format("{}() got an unexpected keyword argument '{}'", function, name));
    }
    const Value*& slot = values_[static_cast<size_t>(found - parameters.begin())];
    if (slot != nullptr) {
      fail_type(fmt::format("{}() got multiple values for argument '{}'", function, name));
    }
    slot = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (values_[i] == nullptr) {
      fail_type(fmt::format("{}() misses a required argument", function));
    }
  }
}

int64_t Bound::integer(size_t index, int64_t absent) const {
  return values_[index] == nullptr ? absent : to_int64(*values_[index]);
}

bool Bound::flag(size_t index, bool absent) const {
  return values_[index] == nullptr ? absent : truth(*values_[index]);
}

int64_t to_int64(const Value& value) {
  if (value.is_undefined()) {
    fail_undefined(value);
  }
  if (!value.is_integral()) {
    fail_type(fmt::format("'{}' object cannot be interpreted as an integer", type_name(value)));
  }
  const Int number = value.as_int();
  if (number > std::numeric_limits<int64_t>::max() ||
      number < std::numeric_limits<int64_t>::min()) {
    fail_type("Python int too large to convert to C ssize_t");
  }
  return static_cast<int64_t>(number);
}

const Text& to_text(const Value& value, std::string_view function) {
  if (!value.is_string()) {
    fail_type(fmt::format("{}: a str is required, not '{}'", function, type_name(value)));
  }
  return value.text();
}

AttributePath::AttributePath(Runtime& runtime, const Value* attribute) {
  if (attribute == nullptr || attribute->is_none()) {
    return;
  }
  if (!attribute->is_string()) {
    parts_.push_back(*attribute);
    return;
  }
  const Value dot = runtime.string(".");
  for (Value& part : split_text(runtime, attribute->text(), &dot, -1)) {
    const std::string_view bytes = part.bytes();
    const bool is_number =
        !bytes.empty() && bytes.find_first_not_of("0123456789") == std::string_view::npos;
    const std::optional<Int> number = is_number ? parse_int(bytes, 10) : std::nullopt;
    parts_.push_back(number ? Value::integer(*number) : std::move(part));
  }
}

Value AttributePath::get(Runtime& runtime, const Value& item, const Value* absent) const {
  Value current = item;
  for (const Value& part : parts_) {
    current = get_item(runtime, current, part);
    if (absent != nullptr && current.is_undefined()) {
      current = *absent;
    }
  }
  return current;
}

Value ignore_case(Runtime& runtime, const Value& value) {
  return value.is_string() ? runtime.string(map_case(value.text(), false)) : value;
}

std::vector<Value> sort_by_keys(Runtime& runtime, std::vector<Value> items,
                                const std::vector<Value>& keys, bool reverse) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Python's reverse keeps equal items in their order: sort descending, stably.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return reverse ? less(runtime, keys[b], keys[a]) : less(runtime, keys[a], keys[b]);
  });
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (const size_t i : order) {
    sorted.push_back(std::move(items[i]));
  }
  return sorted;
}

}  // namespace deltaserve::jinja
