// SPDX-License-Identifier: BSD-3-Clause
#include "system_errors.hpp"

#include "message_header.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace cinnabar::verbs {
namespace {

static_assert(inline_bytes_min == message_header_bytes);

TEST(SystemErrors, TheAdviceOfARefusedConnectionFitsItsReason) {
    const auto says = [](int why, Errc code, std::string_view advice) {
        const Error error = connection_error(why);
        EXPECT_EQ(error.code, code) << why;
        EXPECT_EQ(error.os_errno, why);
        EXPECT_NE(error.message().find(advice), std::string::npos) << error.message();
    };
    says(ENOMEM, Errc::out_of_memory, "ulimit -l");
    says(EAGAIN, Errc::out_of_memory, "the limit is ");
    says(EPERM, Errc::permission, "/dev/infiniband");
    says(EACCES, Errc::permission, "/dev/infiniband");
    says(ENOSPC, Errc::overloaded, "connections_max");
    says(EMFILE, Errc::overloaded, "connections_max");
    says(EINVAL, Errc::unsupported, "16 bytes inline");
    says(ENODEV, Errc::io, "device");
}

TEST(SystemErrors, ALackOfWindowsIsToldWithItsRemedy) {
    const Error error = window_error(ENOMEM);
    EXPECT_EQ(error.code, Errc::too_large);
    EXPECT_EQ(error.os_errno, ENOMEM);
    EXPECT_NE(error.message().find("?windows=yes"), std::string::npos) << error.message();
}

TEST(SystemErrors, ARefusedRegistrationNamesTheLimit) {
    EXPECT_EQ(registration_error(ENOMEM).code, Errc::out_of_memory);
    EXPECT_NE(registration_error(ENOMEM).message().find("the limit is "), std::string::npos);
    EXPECT_EQ(registration_error(EFAULT).code, Errc::permission);
}

}  // namespace
}  // namespace cinnabar::verbs
