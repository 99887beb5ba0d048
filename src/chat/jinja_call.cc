// Calls: builtins, methods, and macros with their defaults and special variables.
#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja_builtins.h"
#include "chat/jinja_interpreter.h"
#include "chat/jinja_macro.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"

namespace deltaserve::jinja {
namespace {

// Takes a keyword out of the arguments.
bool take_named(Arguments& arguments, std::string_view name, Value& value) {
  const auto found = std::find_if(arguments.named.begin(), arguments.named.end(),
                                  [name](const auto& entry) { return entry.first == name; });
  if (found == arguments.named.end()) {
    return false;
  }
  value = std::move(found->second);
  arguments.named.erase(found);
  return true;
}

}  // namespace

std::string_view macro_name(const MacroObject& macro) {
  return macro.definition->name;
}

std::optional<Value> macro_attribute(Runtime& runtime, const MacroObject& macro,
                                     std::string_view name) {
  const ast::Macro& definition = *macro.definition;
  if (name == "name") {
    return definition.name.empty() ? Value() : runtime.string(definition.name);
  }
  if (name == "arguments") {
    std::vector<Value> names;
    names.reserve(definition.parameter_names.size());
    for (const std::string& parameter : definition.parameter_names) {
      names.push_back(runtime.string(parameter));
    }
    return runtime.tuple(std::move(names));
  }
  if (name == "caller") {
    return Value::boolean(definition.uses_caller);
  }
  if (name == "explicit_caller") {
    const auto& names = definition.parameter_names;
    return Value::boolean(std::ranges::find(names, "caller") != names.end());
  }
  if (name == "catch_kwargs") {
    return Value::boolean(definition.uses_kwargs);
  }
  if (name == "catch_varargs") {
    return Value::boolean(definition.uses_varargs);
  }
  return std::nullopt;
}

Value Interpreter::evaluate_call(const ast::Call& node, const Value* caller) {
  const Value callee = evaluate(*node.callee);
  Arguments arguments;
  fill_arguments(node.arguments, arguments);
  if (caller != nullptr) {
    arguments.named.emplace_back("caller", *caller);
  }
  line_ = node.line;
  return call(callee, std::move(arguments));
}

Value Interpreter::call(const Value& callee, Arguments arguments) {
  switch (callee.kind()) {
    case Kind::kFunction:
      return callee.get<FunctionObject>().call(runtime_, arguments);
    case Kind::kMethod: {
      const auto& method = callee.get<MethodObject>();
      return method.call(runtime_, method.self, arguments);
    }
    case Kind::kMacro:
      return call_macro(callee.get<MacroObject>(), std::move(arguments));
    case Kind::kJoiner: {
      const Bound bound("joiner", arguments, {});
      auto& joiner = callee.get<JoinerObject>();
      const bool used = std::exchange(joiner.used, true);
      return used ? joiner.separator : runtime_.string("");
    }
    case Kind::kLoop:
      fail_type("The loop must have the 'recursive' marker to be called recursively.");
    case Kind::kUndefined:
      fail_undefined(callee);
    default:
      fail_type(fmt::format("'{}' object is not callable", type_name(callee)));
  }
}

Value Interpreter::call_macro(const MacroObject& macro, Arguments arguments) {
  const Runtime::DepthGuard depth(runtime_);
  const ast::Macro& definition = *macro.definition;
  const ScopeGuard scope(*this, macro.closure);
  Text text;
  const OutputGuard output(*this, text);
  bind_parameters(definition, arguments);
  bind_specials(definition, arguments);
  run(definition.body);
  return runtime_.string(std::move(text));
}

void Interpreter::bind_parameters(const ast::Macro& definition, Arguments& arguments) {
  const size_t count = definition.parameters.size();
  std::vector<bool> given(count, false);
  for (size_t i = 0; i < count; ++i) {
    Value value;
    if (i < arguments.positional.size()) {
      value = arguments.positional[i];
    } else if (!take_named(arguments, definition.parameter_names[i], value)) {
      continue;
    }
    given[i] = true;
    scope_->set(definition.parameters[i], std::move(value));
  }
  const size_t first_default = count - definition.defaults.size();
  for (size_t i = 0; i < count; ++i) {
    if (given[i]) {
      continue;
    }
    Value value = i >= first_default
                      ? evaluate(*definition.defaults[i - first_default])
                      : runtime_.undefined(fmt::format("parameter {} was not provided",
                                                       quote(definition.parameter_names[i])));
    scope_->set(definition.parameters[i], std::move(value));
  }
}

void Interpreter::bind_specials(const ast::Macro& definition, Arguments& arguments) {
  const size_t count = definition.parameters.size();
  if (definition.uses_caller) {
    Value caller;
    if (!take_named(arguments, "caller", caller)) {
      caller = runtime_.undefined("No caller defined");
    }
    scope_->set(kNameCaller, std::move(caller));
  }
  if (definition.uses_kwargs) {
    std::vector<DictObject::Item> items;
    items.reserve(arguments.named.size());
    for (auto& [name, value] : arguments.named) {
      items.emplace_back(runtime_.string(name), std::move(value));
    }
    scope_->set(kNameKwargs, runtime_.dict(std::move(items)));
  } else if (!arguments.named.empty()) {
    fail_type(fmt::format("macro {} takes no keyword argument {}", quote(definition.name),
                          quote(arguments.named.front().first)));
  }
  const size_t positional = arguments.positional.size();
  if (definition.uses_varargs) {
    const auto rest =
        arguments.positional.begin() + static_cast<std::ptrdiff_t>(std::min(count, positional));
    scope_->set(kNameVarargs, runtime_.tuple(std::vector<Value>(rest, arguments.positional.end())));
  } else if (positional > count) {
    fail_type(
        fmt::format("macro {} takes not more than {} argument(s)", quote(definition.name), count));
  }
}

}  // namespace deltaserve::jinja
