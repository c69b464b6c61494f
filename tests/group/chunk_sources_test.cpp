// SPDX-License-Identifier: BSD-3-Clause
// Which of several sources a member fetches its chunks from.
#include "chunk_sources.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cinnabar::test {
namespace {

using group::ChunkSource;
using group::ChunkSources;

na::Addr source_at(const std::string& port) { return na::Addr::parse("tcp://127.0.0.1:" + port).value(); }

TEST(chunk_sources, a_spare_is_used_once_the_newest_has_failed) {
    ChunkSources sources;
    sources.add(source_at("1"), 11);
    sources.add_spare(source_at("2"), 22);
    const ChunkSource first = sources.newest();
    EXPECT_EQ(first.ticket, 11u);
    sources.failed(first.number - 1);
    EXPECT_EQ(sources.newest().ticket, 11u) << "another one failed";
    sources.failed(first.number);
    EXPECT_TRUE(first.replaced.stop_requested());
    EXPECT_EQ(sources.newest().ticket, 22u);
    sources.failed(sources.newest().number);
    EXPECT_EQ(sources.newest().ticket, 22u) << "there is no other";
    sources.add_spare(source_at("3"), 33);
    EXPECT_EQ(sources.newest().ticket, 33u) << "the one before has failed";
}

TEST(chunk_sources, a_spare_takes_the_place_of_itself) {
    ChunkSources sources;
    sources.add(source_at("1"), 11);
    const ChunkSource first = sources.newest();
    sources.add_spare(source_at("1"), 11);
    EXPECT_TRUE(first.replaced.stop_requested()) << "requests that were lost are made again";
    EXPECT_GT(sources.newest().number, first.number);
}

}  // namespace
}  // namespace cinnabar::test
