// SPDX-License-Identifier: BSD-3-Clause
#include "libfabric.hpp"

#include <gtest/gtest.h>

namespace cinnabar::ofi {
namespace {

TEST(Errors, OfLibfabricHaveCodes) {
    EXPECT_EQ(errc_of(FI_SUCCESS), Errc::ok);
    EXPECT_EQ(errc_of(-FI_EAGAIN), Errc::again);
    EXPECT_EQ(errc_of(FI_ECANCELED), Errc::canceled);
    EXPECT_EQ(errc_of(-FI_ECONNREFUSED), Errc::refused);
    EXPECT_EQ(errc_of(FI_EHOSTUNREACH), Errc::unreachable);
    EXPECT_EQ(errc_of(FI_ETIMEDOUT), Errc::timed_out);
    EXPECT_EQ(errc_of(FI_EADDRINUSE), Errc::address_in_use);
    EXPECT_EQ(errc_of(FI_EACCES), Errc::permission);
    EXPECT_EQ(errc_of(FI_ENOMEM), Errc::out_of_memory);
    EXPECT_EQ(errc_of(FI_ETRUNC), Errc::too_large);
    EXPECT_EQ(errc_of(FI_EOVERRUN), Errc::overloaded);
    EXPECT_EQ(errc_of(FI_ENODATA), Errc::unsupported);
    EXPECT_EQ(errc_of(FI_EINVAL), Errc::invalid_argument);
    for (const int gone : {FI_ECONNRESET, FI_ECONNABORTED, FI_ENOTCONN, FI_EIO, 12345}) {
        EXPECT_EQ(errc_of(gone), Errc::peer_lost) << gone;
        EXPECT_EQ(errc_of(-gone), Errc::peer_lost) << gone;
    }
}

TEST(Errors, OfSetUpHaveTheTextOfLibfabric) {
    const Error error = error_of(-FI_ENODATA, "nothing fits", "of what was asked");
    EXPECT_EQ(error.code, Errc::unsupported);
    const std::string said = error.message();
    EXPECT_NE(said.find("of what was asked: " + std::string(::fi_strerror(FI_ENODATA))), std::string::npos) << said;
}

}  // namespace
}  // namespace cinnabar::ofi
