// SPDX-License-Identifier: BSD-3-Clause
#include "request_table.hpp"

#include "peer_book.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace cinnabar::rpc {
namespace {

constexpr std::size_t many = 12'288;

TEST(RequestTable, FindsTheRequestOfThatPeerAlone) {
    PeerBook books[2];
    Request requests[2];
    RequestTable table;
    table.insert(requests[0], books[0], 7);
    table.insert(requests[1], books[1], 7);
    EXPECT_EQ(table.find(books[0], 7), &requests[0]);
    EXPECT_EQ(table.find(books[1], 7), &requests[1]);
    EXPECT_EQ(table.find(books[0], 8), nullptr);
    table.remove(requests[0]);
    table.remove(requests[0]);
    EXPECT_EQ(table.find(books[0], 7), nullptr);
    EXPECT_EQ(table.find(books[1], 7), &requests[1]);
    table.remove(requests[1]);
}

TEST(RequestTable, ChainsStayShortWhateverIdsAPeerChooses) {
    PeerBook book;
    const auto requests = std::make_unique<Request[]>(many);
    for (const unsigned shift : {0u, 6u, 24u, 32u, 50u}) {
        RequestTable table;
        for (std::size_t i = 0; i < many; ++i) table.insert(requests[i], book, std::uint64_t{i} << shift);
        EXPECT_LE(table.longest_chain(), 64u) << "ids in steps of 2 to the " << shift;
        for (std::size_t i = 0; i < many; i += 97) {
            EXPECT_EQ(table.find(book, std::uint64_t{i} << shift), &requests[i]);
        }
        for (std::size_t i = 0; i < many; ++i) table.remove(requests[i]);
        EXPECT_EQ(table.longest_chain(), 0u);
    }
}

TEST(RequestTable, PeersWhoseIdsAreAlikeDoNotShareAChain) {
    const auto books = std::make_unique<PeerBook[]>(4'096);
    const auto requests = std::make_unique<Request[]>(4'096);
    RequestTable table;
    for (std::size_t i = 0; i < 4'096; ++i) table.insert(requests[i], books[i], 1u << 24);
    EXPECT_LE(table.longest_chain(), 64u);
    for (std::size_t i = 0; i < 4'096; ++i) EXPECT_EQ(table.find(books[i], 1u << 24), &requests[i]);
    for (std::size_t i = 0; i < 4'096; ++i) table.remove(requests[i]);
}

// A peer may use one id for all its requests; only its own chain becomes long then.
TEST(RequestTable, ThoseOfOneIdAreRemovedInAnyOrder) {
    PeerBook book;
    const auto requests = std::make_unique<Request[]>(many);
    RequestTable table;
    for (std::size_t i = 0; i < many; ++i) table.insert(requests[i], book, 1);
    EXPECT_NE(table.find(book, 1), nullptr);
    for (std::size_t i = 0; i < many; i += 2) table.remove(requests[i]);
    for (std::size_t i = 1; i < many; i += 2) table.remove(requests[i]);
    EXPECT_EQ(table.find(book, 1), nullptr);
}

}  // namespace
}  // namespace cinnabar::rpc
