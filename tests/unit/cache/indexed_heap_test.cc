// Order and removal against a sorted set, under random operations.
#include "cache/indexed_heap.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace deltaserve {
namespace {

struct Item {
  int id = 0;
  int rank = 0;
  int64_t place = -1;
};

struct ItemTraits {
  static int64_t& place(Item& item) { return item.place; }
  static int64_t place(const Item& item) { return item.place; }
  static bool before(const Item& a, const Item& b) {
    return std::pair(a.rank, a.id) < std::pair(b.rank, b.id);
  }
};

TEST(IndexedHeap, AgreesWithASortedSet) {
  std::mt19937 random(5);
  const auto below = [&random](int n) { return std::uniform_int_distribution(0, n - 1)(random); };
  std::vector<Item> items(100);
  for (int i = 0; i < 100; ++i) items[static_cast<size_t>(i)].id = i;
  IndexedHeap<Item, ItemTraits> heap;
  heap.reserve(items.size());
  std::set<std::pair<int, int>> reference;
  for (int i = 0; i < 20000; ++i) {
    Item& item = items[static_cast<size_t>(below(100))];
    if (heap.contains(item)) {
      reference.erase({item.rank, item.id});
      if (below(2) == 0) {
        heap.remove(item);
      } else {
        item.rank = below(50);
        heap.update(item);
        reference.insert({item.rank, item.id});
      }
    } else {
      item.rank = below(50);
      heap.push(item);
      reference.insert({item.rank, item.id});
    }
    ASSERT_EQ(heap.size(), reference.size());
    ASSERT_EQ(heap.empty(), reference.empty());
    if (heap.empty()) continue;
    ASSERT_EQ(heap.top().id, reference.begin()->second);
  }
}

}  // namespace
}  // namespace deltaserve
