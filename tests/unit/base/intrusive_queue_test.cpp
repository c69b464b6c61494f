// SPDX-License-Identifier: BSD-3-Clause
#include "support/seeds.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace cinnabar {
namespace {

struct Element {
    int id = 0;
    Element* next = nullptr;
    ListLink<Element> link;
};
using Queue = IntrusiveQueue<Element, &Element::next>;
using List = IntrusiveList<Element, &Element::link>;

std::vector<Element> elements(int count) {
    std::vector<Element> all(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)].id = i;
    return all;
}

std::vector<int> drain(Queue& queue) {
    std::vector<int> ids;
    while (Element* element = queue.pop_front()) ids.push_back(element->id);
    return ids;
}

std::vector<int> ids_of(const List& list) {
    std::vector<int> ids;
    for (Element* e = list.front(); e; e = List::next(*e)) ids.push_back(e->id);
    return ids;
}

TEST(IntrusiveQueue, FirstInFirstOut) {
    auto e = elements(4);
    Queue queue;
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.pop_front(), nullptr);
    queue.push_back(e[0]);
    queue.push_back(e[1]);
    queue.push_front(e[2]);
    EXPECT_EQ(queue.front(), &e[2]);
    EXPECT_EQ(drain(queue), (std::vector{2, 0, 1}));
    EXPECT_TRUE(queue.empty());
    queue.push_front(e[3]);
    queue.push_back(e[0]);
    EXPECT_EQ(drain(queue), (std::vector{3, 0})) << "an emptied queue starts anew";
}

TEST(IntrusiveQueue, SpliceKeepsOrderAndEmptiesTheOther) {
    auto e = elements(5);
    Queue left;
    Queue right;
    left.splice_back(right);
    EXPECT_TRUE(left.empty());
    right.push_back(e[0]);
    right.push_back(e[1]);
    left.splice_back(right);
    EXPECT_TRUE(right.empty());
    right.push_back(e[2]);
    left.splice_back(right);
    left.push_back(e[3]);
    right.push_back(e[4]);
    EXPECT_EQ(drain(left), (std::vector{0, 1, 2, 3}));
    EXPECT_EQ(drain(right), (std::vector{4}));
}

TEST(IntrusiveList, AnyElementCanBeTakenOut) {
    auto e = elements(4);
    List list;
    for (auto& element : e) list.push_back(element);
    list.remove(e[1]);
    EXPECT_FALSE(List::linked(e[1]));
    EXPECT_EQ(ids_of(list), (std::vector{0, 2, 3}));
    list.remove(e[3]);
    list.remove(e[0]);
    EXPECT_EQ(ids_of(list), (std::vector{2}));
    list.push_front(e[0]);
    list.push_back(e[3]);
    EXPECT_EQ(ids_of(list), (std::vector{0, 2, 3}));
    while (list.pop_front()) {
    }
    EXPECT_TRUE(list.empty());
    for (auto& element : e) EXPECT_FALSE(List::linked(element));
}

TEST(IntrusiveList, RandomWalkAgreesWithDeques) {
    test::for_each_seed([](std::uint64_t seed) {
        Random random(seed);
        auto e = elements(16);
        List lists[2];
        std::deque<int> models[2];
        for (int step = 0; step < 200; ++step) {
            auto& element = e[random.below(e.size())];
            const auto which = random.below(2);
            if (List::linked(element)) {
                const auto home = std::count(models[0].begin(), models[0].end(), element.id) ? 0u : 1u;
                lists[home].remove(element);
                std::erase(models[home], element.id);
            } else if (random.chance(2)) {
                lists[which].push_back(element);
                models[which].push_back(element.id);
            } else {
                lists[which].push_front(element);
                models[which].push_front(element.id);
            }
            if (random.chance(40)) {
                lists[which].splice_back(lists[1 - which]);
                models[which].insert(models[which].end(), models[1 - which].begin(), models[1 - which].end());
                models[1 - which].clear();
            }
            for (int i = 0; i < 2; ++i) {
                ASSERT_EQ(ids_of(lists[i]), std::vector<int>(models[i].begin(), models[i].end())) << "step " << step;
            }
        }
    });
}

}  // namespace
}  // namespace cinnabar
