// Slices as Python cuts them.
#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja_access.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_unicode.h"

namespace deltaserve::jinja {
namespace {

// slice.indices(): where a slice of a sequence of `size` begins, how it strides, how many it takes.
struct SliceIndices {
  int64_t start;
  int64_t step;
  int64_t count;
};

bool is_index(const std::optional<Value>& part) {
  return !part || part->is_none() || part->is_integral();
}

SliceIndices slice_indices(const SliceParts& parts, int64_t size) {
  Int step = 1;
  if (parts.step && !parts.step->is_none()) {
    // A stride beyond the sequence takes one item at most, so it can be cut to 64 bits.
    step = std::clamp(parts.step->as_int(), -Int{size} - 1, Int{size} + 1);
  }
  if (step == 0) {
    fail_type("slice step cannot be zero");
  }
  const Int lowest = step > 0 ? 0 : -1;
  const Int highest = step > 0 ? size : size - 1;
  const auto place = [&](const std::optional<Value>& part, Int absent) {
    if (!part || part->is_none()) {
      return absent;
    }
    const Int index = part->as_int();
    return std::clamp(index < 0 ? index + size : index, lowest, highest);
  };
  const Int start = place(parts.start, step > 0 ? lowest : highest);
  const Int stop = place(parts.stop, step > 0 ? highest : lowest);
  const Int span = step > 0 ? stop - start : start - stop;
  const Int stride = step > 0 ? step : -step;
  const Int count = span <= 0 ? 0 : (span + stride - 1) / stride;
  return {static_cast<int64_t>(start), static_cast<int64_t>(step), static_cast<int64_t>(count)};
}

Value slice_string(Runtime& runtime, const StringObject& string, const SliceParts& parts) {
  const SliceIndices indices = slice_indices(parts, static_cast<int64_t>(string.length));
  const std::string_view bytes = string.text.bytes();
  runtime.charge_bytes(bytes.size());
  if (indices.step == 1) {
    const auto start = static_cast<size_t>(indices.start);
    const auto count = static_cast<size_t>(indices.count);
    if (string.ascii()) {
      return runtime.string(string.text.slice(start, start + count));
    }
    const size_t begin = byte_offset(bytes, start);
    const size_t end = begin + byte_offset(bytes.substr(begin), count);
    return runtime.string(string.text.slice(begin, end));
  }
  std::vector<size_t> starts;
  starts.reserve(string.length + 1);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (!utf8::is_continuation(bytes[i])) {
      starts.push_back(i);
    }
  }
  starts.push_back(bytes.size());
  Text out;
  for (int64_t i = 0; i < indices.count; ++i) {
    const auto at = static_cast<size_t>(indices.start + i * indices.step);
    out.append(string.text, starts[at], starts[at + 1]);
  }
  return runtime.string(std::move(out));
}

}  // namespace

Value get_slice(Runtime& runtime, const Value& object, const SliceParts& parts) {
  if (object.is_undefined()) {
    fail_undefined(object);
  }
  const bool sliceable = object.is_string() || object.is(Kind::kList) || object.is(Kind::kTuple) ||
                         object.is(Kind::kRange);
  if (!sliceable) {
    fail_type(object.is(Kind::kDict)
                  ? std::string("unhashable type: 'slice'")
                  : fmt::format("'{}' object is not subscriptable", type_name(object)));
  }
  if (!is_index(parts.start) || !is_index(parts.stop) || !is_index(parts.step)) {
    fail_type("slice indices must be integers or None or have an __index__ method");
  }
  if (object.is_string()) {
    return slice_string(runtime, object.get<StringObject>(), parts);
  }
  const SliceIndices indices = slice_indices(parts, length_of(object));
  if (object.is(Kind::kRange)) {
    const auto& range = object.get<RangeObject>();
    auto cut = std::make_shared<RangeObject>();
    cut->start = static_cast<int64_t>(range.at(indices.start));
    cut->step = static_cast<int64_t>(Int{range.step} * indices.step);
    cut->stop = static_cast<int64_t>(range.at(indices.start + indices.count * indices.step));
    return Value(Kind::kRange, std::move(cut));
  }
  const auto& list = object.get<ListObject>();
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(indices.count));
  for (int64_t i = 0; i < indices.count; ++i) {
    items.push_back(list.items[static_cast<size_t>(indices.start + i * indices.step)]);
  }
  return object.is(Kind::kList) ? runtime.list(std::move(items), list.from_template)
                                : runtime.tuple(std::move(items), list.from_template);
}

}  // namespace deltaserve::jinja
