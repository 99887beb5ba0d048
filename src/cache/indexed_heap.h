// A binary heap whose elements know their place in it, so that any of them can be removed or moved
// in O(log n). It owns nothing and, once reserved, allocates nothing. `Traits` says for an element
// where its place is stored (-1: not in the heap) and which of two goes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace deltaserve {

template <typename T, typename Traits>
class IndexedHeap {
 public:
  void reserve(size_t count) { items_.reserve(count); }
  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  T& top() const { return *items_.front(); }
  static bool contains(const T& item) { return Traits::place(item) >= 0; }

  void push(T& item) {
    items_.push_back(&item);
    Traits::place(item) = static_cast<int64_t>(items_.size()) - 1;
    rise(items_.size() - 1);
  }

  void remove(T& item) {
    const auto i = static_cast<size_t>(Traits::place(item));
    put(i, *items_.back());
    items_.pop_back();
    Traits::place(item) = -1;
    if (i < items_.size()) settle(i);
  }

  // The item's rank has changed.
  void update(T& item) { settle(static_cast<size_t>(Traits::place(item))); }

 private:
  void put(size_t i, T& item) {
    items_[i] = &item;
    Traits::place(item) = static_cast<int64_t>(i);
  }

  void settle(size_t i) {
    rise(i);
    sink(i);
  }

  void rise(size_t i) {
    while (i > 0 && Traits::before(*items_[i], *items_[(i - 1) / 2])) {
      swap_places(i, (i - 1) / 2);
      i = (i - 1) / 2;
    }
  }

  void sink(size_t i) {
    while (true) {
      size_t first = i;
      for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < items_.size(); ++child) {
        if (Traits::before(*items_[child], *items_[first])) first = child;
      }
      if (first == i) return;
      swap_places(i, first);
      i = first;
    }
  }

  void swap_places(size_t a, size_t b) {
    T* const item = items_[a];
    put(a, *items_[b]);
    put(b, *item);
  }

  std::vector<T*> items_;
};

}  // namespace deltaserve
