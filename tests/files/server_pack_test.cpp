// SPDX-License-Identifier: BSD-3-Clause
// Hand-made packs of small files.
#include "file/journal.hpp"
#include "server_fixture.hpp"

#include <algorithm>
#include <filesystem>

namespace cinnabar::files {
namespace {

// A client that sends malformed packs.
struct HandmadePackTest : ServerTest {
    std::vector<std::byte> content = std::vector<std::byte>(1 << 20);
    PackIn pack_of(std::vector<std::string> names, std::uint64_t bytes_each) const {
        PackIn in;
        for (auto& name : names) in.files.push_back({std::move(name), bytes_each, 0, {}});
        in.checked = false;
        const auto bytes = std::min(bytes_each * in.files.size(), content.size());
        if (bytes > 0) {
            const auto region = bulk::Region::expose(ConstBytes(content).first(bytes)).value();
            in.window = hl::Bulk(region, na::Access::read);
        }
        return in;
    }
    Result<PackOut> send(PackIn in) {
        seals.stamp(in);
        auto out = here->call(pack_rpc, to, in).wait();
        if (!out) return from_remote(std::move(out).error());
        return out;
    }
};

TEST_F(HandmadePackTest, PacksThatCannotBeAreRefusedWhole) {
    begin();
    EXPECT_EQ(send(pack_of({}, 1)).code(), Errc::invalid_argument);
    EXPECT_EQ(send(pack_of(std::vector<std::string>(pack_files_max + 1, "a"), 1)).code(), Errc::invalid_argument);
    EXPECT_EQ(send(pack_of({"a"}, packed_file_bytes_max + 1)).code(), Errc::too_large);
    EXPECT_EQ(send(pack_of({"a", std::string(pack_text_bytes_max, 'a')}, 1)).code(), Errc::too_large);
    EXPECT_EQ(send(pack_of(std::vector<std::string>(9, "a"), 128 << 10)).code(), Errc::invalid_argument)
        << "a window that is shorter than the files";
    auto strange = pack_of({"a"}, 1);
    strange.sync = static_cast<Sync>(7);
    EXPECT_EQ(send(strange).code(), Errc::invalid_argument);
    EXPECT_EQ(support::Folder::list_of(folder.path()), (std::vector<std::string>{".cinnabar-staging"}));
    auto extended = pack_of({"a"}, 1);
    extended.files[0].attributes.extended = {{"user.x", std::string(pack_text_bytes_max, 'a')}};
    EXPECT_EQ(send(extended).code(), Errc::too_large);
}

TEST_F(HandmadePackTest, APackThatIsLargerThanABufferIsRefused) {
    options.window_bytes = 4096;
    begin();
    EXPECT_EQ(send(pack_of({"a", "b"}, 4096)).code(), Errc::too_large);
}

TEST_F(HandmadePackTest, OneNameTwiceAndAFalseChecksumAreErrorsOfTheirFiles) {
    begin();
    const auto twice = send(pack_of({"a", "a", "b"}, 3)).value();
    EXPECT_EQ(twice.outcomes[0].code, Errc::ok);
    EXPECT_EQ(twice.outcomes[1].code, Errc::busy);
    EXPECT_EQ(twice.outcomes[2].code, Errc::ok);
    auto checked = pack_of({"c", "d"}, 3);
    checked.checked = true;
    checked.files[1].checksum = block_checksum(ConstBytes(content).first(3));
    const auto out = send(checked).value();
    EXPECT_EQ(out.outcomes[0].code, Errc::bad_checksum);
    EXPECT_EQ(out.outcomes[1].code, Errc::ok);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "c"));
}

TEST_F(HandmadePackTest, FilesOfAPackCountAsThoseOfTheClient) {
    options.session_files_max = 2;
    begin();
    EXPECT_EQ(send(pack_of({"a", "b", "c"}, 1)).code(), Errc::overloaded);
    EXPECT_TRUE(send(pack_of({"a", "b"}, 1)).ok());
    EXPECT_TRUE(send(pack_of({"c", "d"}, 0)).ok()) << "and not for longer than the call";
}

}  // namespace
}  // namespace cinnabar::files
