// SPDX-License-Identifier: BSD-3-Clause
// The error tables: the numbers are wire format, every code has a unique name, and errno is mapped as documented.
#include <cinnabar/base/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace cinnabar {
namespace {

Errc code_of(int value) { return static_cast<Errc>(value); }

// Deliberately copied by hand: renumbering an enumerator breaks compatibility with every peer that is already built.
TEST(Errc, NumbersAreThoseOfTheWireFormat) {
    constexpr Errc free{};
    constexpr std::array<Errc, errc_count> in_order{Errc::ok,
                                                    Errc::again,
                                                    Errc::canceled,
                                                    Errc::timed_out,
                                                    free,
                                                    Errc::refused,
                                                    Errc::unreachable,
                                                    Errc::peer_lost,
                                                    free,
                                                    Errc::overloaded,
                                                    Errc::no_such_rpc,
                                                    Errc::bad_signature,
                                                    Errc::protocol,
                                                    Errc::too_large,
                                                    Errc::permission,
                                                    Errc::out_of_memory,
                                                    Errc::invalid_argument,
                                                    Errc::unsupported,
                                                    Errc::busy,
                                                    Errc::not_found,
                                                    Errc::exists,
                                                    Errc::closed,
                                                    Errc::bad_checksum,
                                                    Errc::io,
                                                    Errc::no_space,
                                                    Errc::would_deadlock,
                                                    Errc::application,
                                                    Errc::handler_failed,
                                                    Errc::bad_address,
                                                    Errc::address_in_use,
                                                    Errc::shutting_down,
                                                    Errc::stale};
    for (std::size_t i = 0; i < in_order.size(); ++i) {
        const bool expected = i == 0 || in_order[i] != free;
        EXPECT_EQ(is_known(code_of(static_cast<int>(i))), expected) << i;
        if (!expected) continue;
        EXPECT_EQ(static_cast<std::size_t>(in_order[i]), i);
    }
    static_assert(sizeof(Errc) == 1);
}

TEST(Errc, EveryCodeHasItsOwnNameAndAnAdvice) {
    std::set<std::string_view> names;
    for (int i = 0; i < errc_count; ++i) {
        if (!is_known(code_of(i))) continue;
        EXPECT_TRUE(names.insert(to_string(code_of(i))).second) << i << " shares the name " << to_string(code_of(i));
        EXPECT_FALSE(to_string(code_of(i)).empty()) << i;
        EXPECT_NE(to_string(code_of(i)), "unknown") << i;
        EXPECT_GT(advice(code_of(i)).size(), 10u) << i;
    }
    EXPECT_EQ(to_string(Errc::ok), "ok");
    EXPECT_EQ(to_string(Errc::timed_out), "timed out");
    EXPECT_EQ(to_string(Errc::shutting_down), "shutting down");
    EXPECT_EQ(to_string(Errc::stale), "stale");
}

TEST(Errc, CodesThatAreNotKnownAreSafeToPrint) {
    for (int i = 0; i < 256; ++i) {
        if (is_known(code_of(i))) continue;
        EXPECT_EQ(to_string(code_of(i)), "unknown");
        EXPECT_FALSE(advice(code_of(i)).empty());
        EXPECT_EQ(blast_of(code_of(i)), BlastRadius::operation);
    }
}

TEST(Errc, BlastNamesWhatMustBeRebuilt) {
    for (const Errc code : {Errc::ok, Errc::again, Errc::canceled, Errc::busy}) {
        EXPECT_EQ(blast_of(code), BlastRadius::nothing) << to_string(code);
    }
    for (const Errc code :
         {Errc::timed_out, Errc::overloaded, Errc::no_such_rpc, Errc::permission, Errc::io, Errc::stale}) {
        EXPECT_EQ(blast_of(code), BlastRadius::operation) << to_string(code);
    }
    for (const Errc code : {Errc::refused, Errc::unreachable, Errc::peer_lost, Errc::protocol, Errc::shutting_down}) {
        EXPECT_EQ(blast_of(code), BlastRadius::peer) << to_string(code);
    }
    EXPECT_EQ(blast_of(Errc::closed), BlastRadius::context);
}

TEST(Errc, FromErrno) {
    struct Row {
        int os_errno;
        Errc code;
    };
    constexpr Row rows[] = {
        {0, Errc::ok},
        {EAGAIN, Errc::again},
        {EWOULDBLOCK, Errc::again},
        {ECONNREFUSED, Errc::refused},
        {EHOSTUNREACH, Errc::unreachable},
        {ENETUNREACH, Errc::unreachable},
        {ECONNRESET, Errc::peer_lost},
        {EPIPE, Errc::peer_lost},
        {ETIMEDOUT, Errc::peer_lost},
        {ENOMEM, Errc::out_of_memory},
        {ENOBUFS, Errc::out_of_memory},
        {EINVAL, Errc::invalid_argument},
        {EACCES, Errc::permission},
        {EROFS, Errc::permission},
        {ENOENT, Errc::not_found},
        {EEXIST, Errc::exists},
        {ENOSPC, Errc::no_space},
        {EDQUOT, Errc::no_space},
        {ENAMETOOLONG, Errc::too_large},
        {EADDRINUSE, Errc::address_in_use},
        {EBUSY, Errc::busy},
        {ENOSYS, Errc::unsupported},
        {ECANCELED, Errc::canceled},
        {EIO, Errc::io},
        {99999, Errc::io},
    };
    for (const Row& row : rows) EXPECT_EQ(errc_from_errno(row.os_errno), row.code) << row.os_errno;
}

TEST(Error, MessageSaysCodeHintSubjectAndTheSystemsText) {
    EXPECT_EQ(Error(Errc::timed_out).message(), "timed out");
    EXPECT_EQ(Error(Errc::refused, "nothing listens there").message(), "refused: nothing listens there");
    EXPECT_EQ(Error(Errc::not_found, {}, "a/b").message(), "not found (a/b)");
    EXPECT_EQ(Error(Errc::refused, "nothing listens there", "tcp://127.0.0.1:1", ECONNREFUSED).message(),
              std::string("refused: nothing listens there (tcp://127.0.0.1:1): ") + std::strerror(ECONNREFUSED));
}

struct CountedDetail : ErrorDetail {
    explicit CountedDetail(int& alive_here) : alive(alive_here) { ++alive; }
    ~CountedDetail() override { --alive; }
    int& alive;
};

TEST(ErrorDetail, IsSharedByCopiesAndFreedWithTheLast) {
    int alive = 0;
    {
        Error error(Errc::timed_out);
        EXPECT_EQ(error.detail.get(), nullptr);
        error.detail = SharedDetail(std::make_unique<CountedDetail>(alive));
        std::optional<Error> copy(error);
        EXPECT_EQ(copy->detail.get(), error.detail.get());
        const Error moved(std::move(error));
        EXPECT_EQ(moved.detail.get(), copy->detail.get());
        *copy = Error(Errc::io);
        EXPECT_EQ(copy->detail.get(), nullptr);
        *copy = moved;
        EXPECT_EQ(copy->detail.get(), moved.detail.get());
        copy.reset();
        EXPECT_EQ(alive, 1);
    }
    EXPECT_EQ(alive, 0);
}

TEST(ErrorDetail, OfItselfStays) {
    int alive = 0;
    SharedDetail detail(std::make_unique<CountedDetail>(alive));
    const SharedDetail& same = detail;
    detail = same;
    EXPECT_NE(detail.get(), nullptr);
    EXPECT_EQ(alive, 1);
}

}  // namespace
}  // namespace cinnabar
