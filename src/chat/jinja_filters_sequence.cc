// Filters on sequences as a whole: order, aggregates, conversion.
#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja_access.h"
#include "chat/jinja_builtins.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"

namespace deltaserve::jinja {
namespace {

Value filter_length(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  const Bound bound("length", arguments, {});
  return Value::integer(length_of(input));
}

Value filter_first(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("first", arguments, {});
  Value item;
  return iterate(runtime, input)->next(item)
             ? item
             : runtime.undefined("No first item, sequence was empty.");
}

Value filter_last(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("last", arguments, {});
  if (input.is(Kind::kIterator)) {
    fail_type("'generator' object is not reversible");
  }
  if (input.is(Kind::kString) || input.is(Kind::kList) || input.is(Kind::kTuple) ||
      input.is(Kind::kRange)) {
    Value item = get_item(runtime, input, Value::integer(-1));
    return item.is_undefined() && length_of(input) == 0
               ? runtime.undefined("No last item, sequence was empty.")
               : item;
  }
  const std::vector<Value> items = collect(runtime, input);
  return items.empty() ? runtime.undefined("No last item, sequence was empty.") : items.back();
}

Value filter_list(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("list", arguments, {});
  return runtime.list(collect(runtime, input));
}

// An iterator over items that are already there.
Value iterator_over(Runtime& runtime, std::vector<Value> items) {
  const Value list = runtime.list(std::move(items));
  const uint32_t depth = list.depth();
  return runtime.iterator(
      [list, position = size_t{0}](Value& item) mutable {
        const auto& all = list.get<ListObject>().items;
        if (position == all.size()) {
          return false;
        }
        item = all[position++];
        return true;
      },
      depth);
}

Value filter_reverse(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("reverse", arguments, {});
  if (input.is_string()) {
    SliceParts parts;
    parts.step = Value::integer(-1);
    return get_slice(runtime, input, parts);
  }
  if (!is_iterable(input)) {
    fail_type("argument must be iterable");
  }
  std::vector<Value> items = collect(runtime, input);
  std::reverse(items.begin(), items.end());
  return input.is(Kind::kIterator) ? runtime.list(std::move(items))
                                   : iterator_over(runtime, std::move(items));
}

Value filter_sort(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<AttributePath> paths;
  if (bound[2] != nullptr && bound[2]->is_string()) {
    std::string_view rest = bound[2]->bytes();
    while (true) {
      const size_t comma = rest.find(',');
      const Value part = runtime.string(std::string(rest.substr(0, comma)));
      paths.emplace_back(runtime, &part);
      if (comma == std::string_view::npos) {
        break;
      }
      rest.remove_prefix(comma + 1);
    }
  } else {
    paths.emplace_back(runtime, bound[2]);
  }
  const bool case_sensitive = bound.flag(1, false);
  std::vector<Value> items = collect(runtime, input);
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) {
    std::vector<Value> key;
    for (const AttributePath& path : paths) {
      const Value part = path.get(runtime, item);
      key.push_back(case_sensitive ? part : ignore_case(runtime, part));
    }
    keys.push_back(runtime.list(std::move(key)));
  }
  return runtime.list(sort_by_keys(runtime, std::move(items), keys, bound.flag(0, false)));
}

Value filter_unique(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  const AttributePath path(runtime, bound[1]);
  const bool case_sensitive = bound.flag(0, false);
  std::vector<Value> seen;
  std::vector<Value> kept;
  for (const Value& item : collect(runtime, input)) {
    Value key = path.get(runtime, item);
    if (!case_sensitive) {
      key = ignore_case(runtime, key);
    }
    check_hashable(key);
    if (std::none_of(seen.begin(), seen.end(),
                     [&](const Value& other) { return equals(runtime, other, key); })) {
      seen.push_back(std::move(key));
      kept.push_back(item);
    }
  }
  return iterator_over(runtime, std::move(kept));
}

Value extreme(Runtime& runtime, const Value& input, const Arguments& arguments, bool largest) {
  const Bound bound(largest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const AttributePath path(runtime, bound[1]);
  const bool case_sensitive = bound.flag(0, false);
  const std::unique_ptr<Cursor> cursor = iterate(runtime, input);
  Value best;
  Value best_key;
  bool any = false;
  Value item;
  while (cursor->next(item)) {
    Value key = path.get(runtime, item);
    if (!case_sensitive) {
      key = ignore_case(runtime, key);
    }
    const bool better = !any || (largest ? compare(runtime, CompareOp::kGreater, key, best_key)
                                         : compare(runtime, CompareOp::kLess, key, best_key));
    if (better) {
      best = item;
      best_key = std::move(key);
    }
    any = true;
  }
  return any ? best : runtime.undefined("No aggregated item, sequence was empty.");
}

Value filter_min(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return extreme(runtime, input, arguments, false);
}

Value filter_max(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return extreme(runtime, input, arguments, true);
}

Value filter_sum(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("sum", arguments, {"attribute", "start"});
  const AttributePath path(runtime, bound[0]);
  Value total = bound[1] != nullptr ? *bound[1] : Value::integer(0);
  if (total.is_string()) {
    fail_type("sum() can't sum strings [use ''.join(seq) instead]");
  }
  const std::unique_ptr<Cursor> cursor = iterate(runtime, input);
  Value item;
  while (cursor->next(item)) {
    total = binary(runtime, BinaryOp::kAdd, total, path.get(runtime, item));
  }
  return total;
}

Value filter_items(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("items", arguments, {});
  const uint32_t depth = input.depth();
  return runtime.iterator(
      [&runtime, input, position = size_t{0}](Value& item) mutable {
        if (input.is_undefined()) {
          return false;
        }
        if (!input.is(Kind::kDict)) {
          fail_type("Can only get item pairs from a mapping.");
        }
        const auto& items = input.get<DictObject>().items;
        if (position == items.size()) {
          return false;
        }
        const auto& [key, value] = items[position++];
        item = runtime.tuple({key, value}, input.get<DictObject>().from_template);
        return true;
      },
      depth);
}

Value filter_dictsort(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = bound[1] == nullptr ? "key" : str(runtime, *bound[1]).bytes();
  if (by != "key" && by != "value") {
    fail_type("You can only sort by either \"key\" or \"value\"");
  }
  if (input.is_undefined()) {
    fail_undefined(input);
  }
  if (!input.is(Kind::kDict)) {
    fail_type(fmt::format("'{}' object has no attribute 'items'", type_name(input)));
  }
  const bool case_sensitive = bound.flag(0, false);
  const auto& dict = input.get<DictObject>();
  std::vector<Value> items;
  std::vector<Value> keys;
  for (const auto& [key, value] : dict.items) {
    items.push_back(runtime.tuple({key, value}, dict.from_template));
    const Value& sort_key = by == "key" ? key : value;
    keys.push_back(case_sensitive ? sort_key : ignore_case(runtime, sort_key));
  }
  return runtime.list(sort_by_keys(runtime, std::move(items), keys, bound.flag(2, false)),
                      dict.from_template);
}

constexpr FilterEntry kFilters[] = {
    {"length", filter_length},     {"count", filter_length},  {"first", filter_first},
    {"last", filter_last},         {"list", filter_list},     {"reverse", filter_reverse},
    {"sort", filter_sort},         {"unique", filter_unique}, {"min", filter_min},
    {"max", filter_max},           {"sum", filter_sum},       {"items", filter_items},
    {"dictsort", filter_dictsort},
};

}  // namespace

const FilterEntry* find_sequence_filter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [name](const FilterEntry& entry) { return entry.name == name; });
  return found == std::end(kFilters) ? nullptr : found;
}

}  // namespace deltaserve::jinja
