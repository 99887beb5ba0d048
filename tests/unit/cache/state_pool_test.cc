// Slots are owned by one holder at a time and come back when it goes.
#include "cache/state_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/check.h"

namespace deltaserve {
namespace {

TEST(StatePool, GivesEverySlotOnce) {
  StatePool pool(3);
  std::vector<StateSlot> slots;
  std::set<int32_t> ids;
  for (int i = 0; i < 3; ++i) {
    slots.push_back(pool.acquire().value());
    ids.insert(slots.back().id());
  }
  EXPECT_EQ(ids, (std::set<int32_t>{0, 1, 2}));
  EXPECT_FALSE(pool.acquire().has_value());
  const int32_t freed = slots[1].id();
  slots.erase(slots.begin() + 1);
  EXPECT_EQ(pool.num_free(), 1);
  EXPECT_FALSE(pool.in_use(freed));
  EXPECT_EQ(pool.acquire().value().id(), freed);
}

TEST(StatePool, MovesOwnership) {
  StatePool pool(2);
  StateSlot a = pool.acquire().value();
  StateSlot b = pool.acquire().value();
  const int32_t kept = b.id();
  a = std::move(b);
  EXPECT_EQ(a.id(), kept);
  EXPECT_EQ(pool.num_free(), 1);
  EXPECT_TRUE(pool.in_use(kept));
  const StateSlot c = std::move(a);
  EXPECT_EQ(c.id(), kept);
  EXPECT_EQ(pool.num_free(), 1);
}

TEST(StatePool, NumbersItsSlotsFromTheFirst) {
  StatePool pool(2, 5);
  const StateSlot a = pool.acquire().value();
  const StateSlot b = pool.acquire().value();
  EXPECT_EQ(std::set<int32_t>({a.id(), b.id()}), (std::set<int32_t>{5, 6}));
  EXPECT_TRUE(pool.in_use(6));
  EXPECT_THROW(static_cast<void>(pool.in_use(4)), InvariantError);
  EXPECT_THROW(static_cast<void>(pool.in_use(7)), InvariantError);
  const std::vector<int32_t> held{6};
  pool.recount(held);
  EXPECT_FALSE(pool.in_use(5));
  EXPECT_EQ(pool.acquire().value().id(), 5);
  pool.recount(std::vector<int32_t>{5, 6});
}

TEST(StatePool, RecountTakesTheOwnersWord) {
  StatePool pool(3);
  const StateSlot kept = pool.acquire().value();
  StateSlot lost = pool.acquire().value();
  const std::vector<int32_t> held{kept.id(), lost.id()};
  pool.recount(held);
  EXPECT_EQ(pool.num_free(), 1);
  EXPECT_TRUE(pool.in_use(kept.id()));
  EXPECT_TRUE(pool.in_use(lost.id()));
  EXPECT_THROW(static_cast<void>(pool.in_use(3)), InvariantError);
}

}  // namespace
}  // namespace deltaserve
