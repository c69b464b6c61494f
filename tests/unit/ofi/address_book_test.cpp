// SPDX-License-Identifier: BSD-3-Clause
// An address book on an address vector that returns one handle for all addresses, as a provider without free handles
// may.
#include "address_book.hpp"

#include <gtest/gtest.h>

#include <array>

namespace cinnabar::ofi {
namespace {

struct OneHandle {
    static constexpr fi_addr_t handle = 5;

    OneHandle() {
        table.fid.fclass = FI_CLASS_AV;
        table.fid.context = this;
        closing.size = sizeof closing;
        closing.close = [](fid*) { return 0; };
        table.fid.ops = &closing;
        calls.size = sizeof calls;
        calls.insert = [](fid_av*, const void*, std::size_t, fi_addr_t* out, std::uint64_t, void*) {
            *out = handle;
            return 1;
        };
        calls.remove = [](fid_av* self, fi_addr_t*, std::size_t, std::uint64_t) {
            ++static_cast<OneHandle*>(self->fid.context)->removed;
            return 0;
        };
        table.ops = &calls;
    }
    fid_av table{};
    fi_ops closing{};
    fi_ops_av calls{};
    unsigned removed = 0;
};

TEST(AddressBook, AHandleOfAnotherAddressIsRefusedAndStaysValid) {
    OneHandle provider;
    AddressBook book{Fid<fid_av>(&provider.table)};
    const std::array<std::byte, 4> first{};
    const std::array<std::byte, 4> second{std::byte{1}};
    fi_addr_t known = FI_ADDR_UNSPEC;
    ASSERT_EQ(book.insert(first, known), Errc::ok);
    ASSERT_EQ(known, OneHandle::handle);
    fi_addr_t again = known;
    EXPECT_EQ(book.insert(second, again), Errc::overloaded);
    EXPECT_EQ(again, FI_ADDR_UNSPEC);
    EXPECT_EQ(provider.removed, 0u);
    // The first address still has two users.
    ASSERT_EQ(book.insert(first, again), Errc::ok);
    book.remove(again);
    EXPECT_EQ(provider.removed, 0u);
    book.remove(known);
    EXPECT_EQ(provider.removed, 1u);
    EXPECT_EQ(book.insert(second, again), Errc::ok);
    book.remove(again);
}

}  // namespace
}  // namespace cinnabar::ofi
