// The global functions: jinja2's, and the two that Hugging Face adds for chat templates.
#include <fmt/format.h>

#include <ctime>

#include "chat/jinja_access.h"
#include "chat/jinja_builtins.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"

namespace deltaserve::jinja {
namespace {

Value make_range(Runtime& runtime, const Arguments& arguments) {
  const Bound bound("range", arguments, {"", "", ""}, 1);
  auto range = std::make_shared<RangeObject>();
  if (bound[1] == nullptr) {
    range->stop = to_int64(*bound[0]);
  } else {
    range->start = to_int64(*bound[0]);
    range->stop = to_int64(*bound[1]);
    range->step = bound.integer(2, 1);
  }
  if (range->step == 0) {
    fail_type("range() arg 3 must not be zero");
  }
  if (range->size() > kMaxRange) {
    fail_type(fmt::format("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).",
                          kMaxRange));
  }
  runtime.step();
  return Value(Kind::kRange, std::move(range));
}

// The items of dict(...): a mapping or an iterable of pairs, then keywords.
std::vector<DictObject::Item> dict_items(Runtime& runtime, std::string_view function,
                                         const Arguments& arguments) {
  std::vector<DictObject::Item> items;
  if (arguments.positional.size() > 1) {
    fail_type(fmt::format("{} expected at most 1 argument, got {}", function,
                          arguments.positional.size()));
  }
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional.front();
    if (source.is(Kind::kDict)) {
      items = source.get<DictObject>().items;
    } else {
      for (const Value& pair : collect(runtime, source)) {
        std::vector<Value> parts = collect(runtime, pair);
        if (parts.size() != 2) {
          fail_type(fmt::format("dictionary update sequence element has length {}; 2 is required",
                                parts.size()));
        }
        items.emplace_back(std::move(parts[0]), std::move(parts[1]));
      }
    }
  }
  for (const auto& [name, value] : arguments.named) {
    items.emplace_back(runtime.string(name), value);
  }
  return items;
}

Value make_dict(Runtime& runtime, const Arguments& arguments) {
  return runtime.dict(dict_items(runtime, "dict", arguments));
}

Value make_namespace(Runtime& runtime, const Arguments& arguments) {
  const Value dict = runtime.dict(dict_items(runtime, "namespace", arguments));
  Value result = runtime.name_space();
  for (const auto& [key, value] : dict.get<DictObject>().items) {
    if (key.is_string()) {
      result.get<NamespaceObject>().attributes.emplace_back(std::string(key.bytes()), value);
    }
  }
  return result;
}

Value make_joiner(Runtime& runtime, const Arguments& arguments) {
  const Bound bound("joiner", arguments, {"sep"});
  auto joiner = std::make_shared<JoinerObject>();
  joiner->separator = bound[0] != nullptr ? *bound[0] : runtime.string(", ");
  if (joiner->separator.depth() > 0) {
    fail_type("joiner() takes a string");
  }
  return Value(Kind::kJoiner, std::move(joiner));
}

Value make_cycler(Runtime& /*runtime*/, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) {
    fail_type("at least one item has to be provided");
  }
  auto cycler = std::make_shared<CyclerObject>();
  uint32_t depth = 0;
  for (const Value& item : arguments.positional) {
    depth = std::max(depth, item.depth());
  }
  cycler->depth = nested_depth(depth);
  cycler->items = arguments.positional;
  return Value(Kind::kCycler, std::move(cycler));
}

Value raise_exception(Runtime& runtime, const Arguments& arguments) {
  const Bound bound("raise_exception", arguments, {"message"}, 1);
  throw TemplateFailure(FailureKind::kRaised, str(runtime, *bound[0]).bytes());
}

Value strftime_now(Runtime& runtime, const Arguments& arguments) {
  const Bound bound("strftime_now", arguments, {"format"}, 1);
  const std::string format = to_text(*bound[0], "strftime").bytes();
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  // A directive gives some 40 bytes at most; 4 KiB is beyond any date line of a prompt.
  char buffer[4096];
  const size_t size =
      format.empty() ? 0 : std::strftime(buffer, sizeof(buffer), format.c_str(), &local);
  return runtime.string(std::string(buffer, size));
}

}  // namespace

const std::vector<GlobalEntry>& global_functions() {
  static const std::vector<GlobalEntry> kGlobals = {
      {"range", make_range},          {"dict", make_dict},     {"namespace", make_namespace},
      {"joiner", make_joiner},        {"cycler", make_cycler}, {"raise_exception", raise_exception},
      {"strftime_now", strftime_now},
  };
  return kGlobals;
}

}  // namespace deltaserve::jinja
