// SPDX-License-Identifier: BSD-3-Clause
// Hand-made requests for packs of small files.
#include "server_fixture.hpp"

#include <cinnabar/files/name.hpp>

#include <algorithm>
#include <cstddef>

namespace cinnabar::files {
namespace {

// A client that asks for what it may not have.
struct HandmadeReadPackTest : ServerTest {
    static constexpr std::byte untouched{0xee};
    std::vector<std::byte> memory = std::vector<std::byte>(1 << 20, untouched);

    ReadPackIn pack_of(std::vector<std::string> names, std::uint64_t bytes_each) {
        ReadPackIn in;
        for (auto& name : names) in.files.push_back({std::move(name), bytes_each});
        const auto bytes = std::min<std::uint64_t>(bytes_each * in.files.size(), memory.size());
        if (bytes > 0) {
            const auto region = bulk::Region::expose(Bytes(memory).first(bytes), na::Access::write).value();
            in.window = hl::Bulk(region, na::Access::write);
        }
        return in;
    }
    Result<ReadPackOut> send(ReadPackIn in) {
        seals.stamp(in);
        auto out = here->call(read_pack_rpc, to, in).wait();
        if (!out) return from_remote(std::move(out).error());
        return out;
    }
    [[nodiscard]] std::string text(std::size_t offset, std::size_t bytes) const {
        return {reinterpret_cast<const char*>(memory.data()) + offset, bytes};
    }
    [[nodiscard]] bool is_untouched(std::size_t offset, std::size_t bytes) const {
        const auto from = memory.begin() + static_cast<std::ptrdiff_t>(offset);
        const auto end = from + static_cast<std::ptrdiff_t>(bytes);
        return std::all_of(from, end, [](std::byte at) { return at == untouched; });
    }
};

TEST_F(HandmadeReadPackTest, PacksThatCannotBeAreRefusedWhole) {
    begin();
    EXPECT_EQ(send(pack_of({}, 1)).code(), Errc::invalid_argument);
    EXPECT_EQ(send(pack_of(std::vector<std::string>(pack_files_max + 1, "a"), 1)).code(), Errc::invalid_argument);
    EXPECT_EQ(send(pack_of({"a"}, packed_file_bytes_max + 1)).code(), Errc::too_large);
    EXPECT_EQ(send(pack_of({"a", std::string(name_bytes_max + 1, 'a')}, 1)).code(), Errc::too_large);
    EXPECT_EQ(send(pack_of(std::vector<std::string>(pack_files_max, std::string(name_bytes_max, 'a')), 1)).code(),
              Errc::too_large);
    EXPECT_EQ(send(pack_of(std::vector<std::string>(9, "a"), 128 << 10)).code(), Errc::invalid_argument)
        << "a window that is shorter than the files";
}

TEST_F(HandmadeReadPackTest, OneThatIsLargerThanABufferIsRefused) {
    options.window_bytes = 4096;
    begin();
    EXPECT_EQ(send(pack_of({"a", "b"}, 4096)).code(), Errc::too_large);
}

TEST_F(HandmadeReadPackTest, NamesOutsideOfTheRootAndOfOthersAreErrorsOfTheirFiles) {
    hooks.may_access = [](const AccessRequest& access) -> Result<void> {
        if (access.kind == AccessRequest::Kind::fetch && access.name == "secret") return Errc::permission;
        return {};
    };
    begin();
    (void)folder.put("a", "abc");
    (void)folder.put("secret", "SEC");
    const std::vector<std::string> names{"a", "../a", "/etc/passwd", ".cinnabar-staging/a", "secret", "a/b", "", "a"};
    const std::vector<Errc> expected{Errc::ok,         Errc::permission,       Errc::permission,       Errc::permission,
                                     Errc::permission, Errc::invalid_argument, Errc::invalid_argument, Errc::ok};
    const auto out = send(pack_of(names, 3)).value();
    ASSERT_EQ(out.files.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(out.files[i].outcome.code, expected[i]) << names[i];
    EXPECT_EQ(text(0, 3), "abc");
    EXPECT_EQ(text(21, 3), "abc") << "a name may come twice";
    EXPECT_TRUE(is_untouched(3, 18)) << "nothing is sent that is not a file's";
    EXPECT_TRUE(is_untouched(24, 1000));
}

TEST_F(HandmadeReadPackTest, AFileOfAnotherSizeIsNotSent) {
    begin();
    (void)folder.put("a", "abc");
    (void)folder.put("b", "bcdef");
    const auto out = send(pack_of({"b", "a"}, 5)).value();
    EXPECT_EQ(out.files[0].outcome.code, Errc::ok);
    EXPECT_EQ(out.files[1].outcome.code, Errc::again);
    EXPECT_EQ(text(0, 5), "bcdef");
    EXPECT_TRUE(is_untouched(5, 5));
}

TEST_F(HandmadeReadPackTest, ItsFilesCountAsThoseOfTheClient) {
    options.session_files_max = 2;
    begin();
    for (const auto* name : {"a", "b", "c"}) (void)folder.put(name, "x");
    EXPECT_EQ(send(pack_of({"a", "b", "c"}, 1)).code(), Errc::overloaded);
    EXPECT_TRUE(send(pack_of({"a", "b"}, 1)).ok());
    EXPECT_TRUE(send(pack_of({"b", "c"}, 1)).ok()) << "and not for longer than the call";
}

TEST_F(HandmadeReadPackTest, AWindowThatMayNotBeWrittenEndsThePack) {
    begin();
    (void)folder.put("a", "abc");
    auto in = pack_of({"a"}, 3);
    in.window = hl::Bulk(bulk::Region::expose(ConstBytes(memory).first(3)).value(), na::Access::read);
    EXPECT_FALSE(send(std::move(in)).ok());
    EXPECT_TRUE(is_untouched(0, 3));
    EXPECT_TRUE(send(pack_of({"a"}, 3)).ok());
}

TEST_F(HandmadeReadPackTest, ASignedOneCannotBeChanged) {
    keyed = true;
    begin();
    (void)folder.put("a", "abc");
    auto in = pack_of({"a"}, 3);
    seals.stamp(in);
    auto changed = in;
    changed.files[0].name = "b";
    EXPECT_EQ(from_remote(here->call(read_pack_rpc, to, changed).wait().error()).code, Errc::permission);
    changed = in;
    changed.extended.user = true;
    EXPECT_EQ(from_remote(here->call(read_pack_rpc, to, changed).wait().error()).code, Errc::permission);
    EXPECT_TRUE(here->call(read_pack_rpc, to, in).wait().ok());
    EXPECT_EQ(from_remote(here->call(read_pack_rpc, to, in).wait().error()).code, Errc::permission) << "a replay";
}

}  // namespace
}  // namespace cinnabar::files
