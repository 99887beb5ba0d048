// Filters that work item by item: map, select, reject, batch, slice, groupby. Those that are
// generators in jinja2 are lazy here too: an error in an item appears when the item is reached.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "chat/jinja_access.h"
#include "chat/jinja_builtins.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"

namespace deltaserve::jinja {
namespace {

uint32_t arguments_depth(const Arguments& arguments) {
  uint32_t depth = 0;
  for (const Value& value : arguments.positional) {
    depth = std::max(depth, value.depth());
  }
  for (const auto& [name, value] : arguments.named) {
    depth = std::max(depth, value.depth());
  }
  return depth;
}

std::string callable_name(Runtime& runtime, const Value& name) {
  return name.is_string() ? std::string(name.bytes()) : repr(runtime, name);
}

// What map() does to an item.
class Mapper {
 public:
  Mapper(Runtime& runtime, const Arguments& arguments) : runtime_(runtime) {
    const bool by_attribute =
        arguments.positional.empty() && !arguments.named.empty() &&
        std::any_of(arguments.named.begin(), arguments.named.end(),
                    [](const auto& argument) { return argument.first == "attribute"; });
    if (by_attribute) {
      const Bound bound("map", arguments, {"attribute", "default"});
      path_ = std::make_unique<AttributePath>(runtime, bound[0]);
      if (bound[1] != nullptr && !bound[1]->is_none()) {
        absent_ = *bound[1];
      }
      return;
    }
    if (arguments.positional.empty()) {
      fail_type("map requires a filter argument");
    }
    const std::string name = callable_name(runtime, arguments.positional.front());
    filter_ = find_filter(name);
    if (filter_ == nullptr) {
      fail_type(fmt::format("No filter named {}.", quote(name)));
    }
    rest_.positional.assign(arguments.positional.begin() + 1, arguments.positional.end());
    rest_.named = arguments.named;
  }

  Value apply(const Value& item) const {
    return path_ != nullptr ? path_->get(runtime_, item, absent_.is_none() ? nullptr : &absent_)
                            : filter_->call(runtime_, item, rest_);
  }

 private:
  Runtime& runtime_;
  std::unique_ptr<AttributePath> path_;
  Value absent_;
  const FilterEntry* filter_ = nullptr;
  Arguments rest_;
};

// Whether select() and its kin keep an item.
class Selector {
 public:
  Selector(Runtime& runtime, const Arguments& arguments, bool by_attribute, bool keep_if)
      : runtime_(runtime), keep_if_(keep_if) {
    size_t used = 0;
    if (by_attribute) {
      if (arguments.positional.empty()) {
        fail_type("Missing parameter for attribute name");
      }
      path_ = std::make_unique<AttributePath>(runtime, &arguments.positional.front());
      used = 1;
    }
    if (arguments.positional.size() > used) {
      const std::string name = callable_name(runtime, arguments.positional[used]);
      test_ = find_test(name);
      if (test_ == nullptr) {
        fail_type(fmt::format("No test named {}.", quote(name)));
      }
      rest_.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(used) + 1,
                              arguments.positional.end());
      rest_.named = arguments.named;
    }
  }

  bool keeps(const Value& item) const {
    const Value value = path_ != nullptr ? path_->get(runtime_, item) : item;
    const bool result = test_ != nullptr ? test_->call(runtime_, value, rest_) : truth(value);
    return result == keep_if_;
  }

 private:
  Runtime& runtime_;
  bool keep_if_;
  std::unique_ptr<AttributePath> path_;
  const TestEntry* test_ = nullptr;
  Arguments rest_;
};

// The state of a lazy filter: its parts are made when the first item is asked for.
template <typename Step>
struct Lazy {
  Value input;
  Arguments arguments;
  std::unique_ptr<Cursor> cursor;
  std::unique_ptr<Step> step;
};

template <typename Step, typename MakeStep, typename Next>
Value lazy(Runtime& runtime, const Value& input, const Arguments& arguments, MakeStep make_step,
           Next next) {
  auto state = std::make_shared<Lazy<Step>>();
  state->input = input;
  state->arguments = arguments;
  const uint32_t depth = std::max(input.depth(), arguments_depth(arguments));
  return runtime.iterator(
      [&runtime, state, make_step, next](Value& item) {
        const Runtime::DepthGuard guard(runtime);
        if (state->step == nullptr) {
          if (!truth(state->input)) {
            return false;
          }
          state->step = make_step(state->arguments);
          state->cursor = iterate(runtime, state->input);
        }
        return next(*state->step, *state->cursor, item);
      },
      depth);
}

Value filter_map(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return lazy<Mapper>(
      runtime, input, arguments,
      [&runtime](const Arguments& a) { return std::make_unique<Mapper>(runtime, a); },
      [](const Mapper& mapper, Cursor& cursor, Value& item) {
        Value source;
        if (!cursor.next(source)) {
          return false;
        }
        item = mapper.apply(source);
        return true;
      });
}

template <bool kByAttribute, bool kKeepIf>
Value filter_select(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return lazy<Selector>(
      runtime, input, arguments,
      [&runtime](const Arguments& a) {
        return std::make_unique<Selector>(runtime, a, kByAttribute, kKeepIf);
      },
      [](const Selector& selector, Cursor& cursor, Value& item) {
        while (cursor.next(item)) {
          if (selector.keeps(item)) {
            return true;
          }
        }
        return false;
      });
}

// An iterator over lists that are already cut.
Value iterate_lists(Runtime& runtime, std::vector<std::vector<Value>> lists) {
  std::vector<Value> items;
  items.reserve(lists.size());
  for (auto& list : lists) {
    items.push_back(runtime.list(std::move(list)));
  }
  Arguments all;
  all.positional.push_back(runtime.list(std::move(items)));
  const uint32_t depth = all.positional.front().depth();
  std::shared_ptr<Cursor> cursor = iterate(runtime, all.positional.front());
  return runtime.iterator([cursor](Value& item) { return cursor->next(item); }, depth);
}

Value filter_batch(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("batch", arguments, {"linecount", "fill_with"}, 1);
  const int64_t size = to_int64(*bound[0]);
  std::vector<std::vector<Value>> batches;
  std::vector<Value> batch;
  for (Value& item : collect(runtime, input)) {
    if (static_cast<int64_t>(batch.size()) == size) {
      batches.push_back(std::move(batch));
      batch.clear();
    }
    batch.push_back(std::move(item));
  }
  if (!batch.empty()) {
    if (bound[1] != nullptr && !bound[1]->is_none()) {
      while (static_cast<int64_t>(batch.size()) < size) {
        runtime.step(2);
        batch.push_back(*bound[1]);
      }
    }
    batches.push_back(std::move(batch));
  }
  return iterate_lists(runtime, std::move(batches));
}

Value filter_slice(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("slice", arguments, {"slices", "fill_with"}, 1);
  const std::vector<Value> items = collect(runtime, input);
  const int64_t slices = to_int64(*bound[0]);
  if (slices == 0) {
    fail_type("integer division or modulo by zero");
  }
  const auto count = static_cast<int64_t>(items.size());
  const int64_t per_slice = slices > 0 ? count / slices : 0;
  const int64_t longer = slices > 0 ? count % slices : 0;
  std::vector<std::vector<Value>> cut;
  auto begin = items.begin();
  for (int64_t i = 0; i < slices; ++i) {
    runtime.step();
    const int64_t size = per_slice + (i < longer ? 1 : 0);
    std::vector<Value> part(begin, begin + size);
    begin += size;
    if (bound[1] != nullptr && !bound[1]->is_none() && i >= longer) {
      part.push_back(*bound[1]);
    }
    cut.push_back(std::move(part));
  }
  return iterate_lists(runtime, std::move(cut));
}

Value filter_groupby(Runtime& runtime, const Value& input, const Arguments& arguments) {
  const Bound bound("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(runtime, bound[0]);
  const Value* absent = bound[1] != nullptr && !bound[1]->is_none() ? bound[1] : nullptr;
  const bool case_sensitive = bound.flag(2, false);
  const auto key_of = [&](const Value& item) {
    Value key = path.get(runtime, item, absent);
    return case_sensitive ? key : ignore_case(runtime, key);
  };
  std::vector<Value> items = collect(runtime, input);
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) {
    keys.push_back(key_of(item));
  }
  items = sort_by_keys(runtime, std::move(items), keys, false);
  std::vector<Value> groups;
  for (size_t begin = 0; begin < items.size();) {
    const Value key = key_of(items[begin]);
    size_t end = begin + 1;
    while (end < items.size() && equals(runtime, key_of(items[end]), key)) {
      ++end;
    }
    const Value shown = case_sensitive ? key : path.get(runtime, items[begin], absent);
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = items.begin() + static_cast<std::ptrdiff_t>(end);
    Value group = runtime.tuple({shown, runtime.list(std::vector<Value>(first, last))});
    group.get<ListObject>().view_name = kGroupTuple;
    groups.push_back(std::move(group));
    begin = end;
  }
  return runtime.list(std::move(groups));
}

constexpr FilterEntry kFilters[] = {
    {"map", filter_map},
    {"select", filter_select<false, true>},
    {"reject", filter_select<false, false>},
    {"selectattr", filter_select<true, true>},
    {"rejectattr", filter_select<true, false>},
    {"batch", filter_batch},
    {"slice", filter_slice},
    {"groupby", filter_groupby},
};

}  // namespace

const FilterEntry* find_selection_filter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [name](const FilterEntry& entry) { return entry.name == name; });
  return found == std::end(kFilters) ? nullptr : found;
}

}  // namespace deltaserve::jinja
