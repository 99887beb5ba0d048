// Keys of dicts: what may be one, and which are the same.
#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja_operators.h"

namespace deltaserve::jinja {

void check_hashable(const Value& key) {
  switch (key.kind()) {
    case Kind::kList:
    case Kind::kDict:
    case Kind::kDictView:
      fail_type(fmt::format("unhashable type: '{}'", type_name(key)));
    case Kind::kTuple:
      for (const Value& item : key.get<ListObject>().items) {
        check_hashable(item);
      }
      return;
    default:
      return;
  }
}

const Value* find_key(Runtime& runtime, const DictObject& dict, const Value& key) {
  if (key.is_string()) {
    return dict.find(key.bytes());
  }
  for (const auto& [other, value] : dict.items) {
    if (!other.is_string() && equals(runtime, other, key)) {
      return &value;
    }
  }
  return nullptr;
}

void merge_equal_keys(Runtime& runtime, std::vector<DictObject::Item>& items) {
  // String keys by sorting, the rare others one by one.
  std::vector<uint32_t> strings;
  std::vector<uint32_t> others;
  std::vector<bool> dropped(items.size(), false);
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (items[i].first.is_string()) {
      strings.push_back(i);
      continue;
    }
    const auto same = std::find_if(others.begin(), others.end(), [&](uint32_t j) {
      return equals(runtime, items[j].first, items[i].first);
    });
    if (same == others.end()) {
      others.push_back(i);
    } else {
      items[*same].second = items[i].second;
      dropped[i] = true;
    }
  }
  std::stable_sort(strings.begin(), strings.end(), [&](uint32_t a, uint32_t b) {
    return items[a].first.bytes() < items[b].first.bytes();
  });
  for (size_t i = 0, first = 0; i < strings.size(); ++i) {
    if (i == 0 || items[strings[i]].first.bytes() != items[strings[first]].first.bytes()) {
      first = i;
      continue;
    }
    items[strings[first]].second = items[strings[i]].second;
    dropped[strings[i]] = true;
  }
  size_t kept = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!dropped[i]) {
      if (kept != i) {
        items[kept] = std::move(items[i]);
      }
      ++kept;
    }
  }
  items.resize(kept);
}

}  // namespace deltaserve::jinja
