// Whose turn it is, with and without fair share.
#include "engine/waiting_queue.h"

#include <gtest/gtest.h>

#include <memory>

#include "fake_engine.h"

namespace deltaserve {
namespace {

class WaitingQueueTest : public testing::Test {
 protected:
  Sequence& add(WaitingQueue& queue, const std::string& tenant, int32_t priority = 0) {
    auto state = std::make_unique<RequestState>();
    state->request = make_request(1, 1);
    state->request.tenant = tenant;
    state->request.priority = priority;
    state->choices.push_back(
        std::make_unique<Sequence>(*state, 0, requests_.size(), blocks_, kFakeVocab));
    Sequence& sequence = *state->choices[0];
    requests_.push_back(std::move(state));
    queue.join(sequence);
    queue.insert(sequence);
    return sequence;
  }

  // The next in turn, served so many tokens.
  static Sequence* take(WaitingQueue& queue, int64_t num_tokens) {
    queue.begin_walk();
    Sequence* const next = queue.next();
    queue.erase(*next);
    queue.charge(*next, num_tokens);
    return next;
  }

  BlockPool blocks_{1};
  std::vector<std::unique_ptr<RequestState>> requests_;
};

TEST_F(WaitingQueueTest, ServesByRankWithoutFairShare) {
  WaitingQueue queue(false);
  Sequence& a = add(queue, "a");
  Sequence& b = add(queue, "a");
  Sequence& c = add(queue, "c");
  Sequence& urgent = add(queue, "c", -1);
  EXPECT_EQ(queue.size(), 4);
  EXPECT_EQ(queue.first(), &urgent);
  for (Sequence* const wanted : {&urgent, &a, &b, &c}) EXPECT_EQ(take(queue, 1000), wanted);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.first(), nullptr);
  EXPECT_EQ(queue.next(), nullptr);
}

TEST_F(WaitingQueueTest, TenantsTakeTurnsByTokensServed) {
  WaitingQueue queue(true);
  Sequence& a1 = add(queue, "a");
  Sequence& a2 = add(queue, "a");
  Sequence& a3 = add(queue, "a");
  Sequence& b1 = add(queue, "b");
  Sequence& b2 = add(queue, "b");
  EXPECT_EQ(take(queue, 100), &a1);
  EXPECT_EQ(take(queue, 30), &b1);
  EXPECT_EQ(take(queue, 30), &b2) << "b was served less";
  EXPECT_EQ(take(queue, 100), &a2);
  EXPECT_EQ(take(queue, 100), &a3);
}

TEST_F(WaitingQueueTest, PriorityGoesBeforeShares) {
  WaitingQueue queue(true);
  add(queue, "a");
  Sequence& urgent = add(queue, "b", -5);
  queue.charge(urgent, 10000);
  EXPECT_EQ(take(queue, 1), &urgent);
}

TEST_F(WaitingQueueTest, APauseSavesNothingUp) {
  WaitingQueue queue(true);
  Sequence& a1 = add(queue, "a");
  Sequence& a2 = add(queue, "a");
  Sequence& b1 = add(queue, "b");
  EXPECT_EQ(take(queue, 5000), &a1);
  EXPECT_EQ(take(queue, 5000), &b1);
  queue.leave(b1);
  Sequence& b2 = add(queue, "b");
  Sequence& c1 = add(queue, "c");
  EXPECT_EQ(take(queue, 10), &a2) << "all are level: the first to come goes first";
  EXPECT_EQ(take(queue, 10), &b2);
  EXPECT_EQ(take(queue, 10), &c1);
}

TEST_F(WaitingQueueTest, PassesOverThoseThatCannotRunYet) {
  for (const bool fair_share : {false, true}) {
    WaitingQueue queue(fair_share);
    Sequence& a1 = add(queue, "a");
    Sequence& a2 = add(queue, "a");
    Sequence& b1 = add(queue, "b");
    queue.begin_walk();
    EXPECT_EQ(queue.next(), &a1);
    queue.pass_over(a1);
    EXPECT_EQ(queue.next(), &a2);
    queue.erase(a2);
    EXPECT_EQ(queue.next(), &b1);
    queue.pass_over(b1);
    EXPECT_EQ(queue.next(), nullptr);
    queue.begin_walk();
    EXPECT_EQ(queue.next(), &a1);
    EXPECT_FALSE(queue.erase(a2));
    EXPECT_EQ(queue.size(), 2);
  }
}

TEST(FairShare, ATenantWithManyRequestsDelaysAnotherByOneTurn) {
  for (const bool fair_share : {false, true}) {
    FakeEngine engine({.max_num_seqs = 1, .fair_share = fair_share});
    std::vector<RequestId> order;
    for (RequestId id = 1; id <= 20; ++id) {
      Request request = make_request(50, 5, id);
      request.tenant = "many";
      engine.core.add(id, request);
    }
    Request request = make_request(50, 5, 99);
    request.tenant = "one";
    engine.core.add(99, request);
    while (engine.core.has_work()) {
      for (const RequestId id : engine.step()) order.push_back(id);
    }
    const auto place = std::ranges::find(order, RequestId{99}) - order.begin();
    EXPECT_EQ(place, fair_share ? 1 : 20);
    EXPECT_EQ(engine.recorder.records.at(99).choices.at(0).tokens,
              run_alone(request).choices.at(0).tokens);
  }
}

}  // namespace
}  // namespace deltaserve
