// SPDX-License-Identifier: BSD-3-Clause
// What the log says of peers that send malformed bytes.
#include "context_fixture.hpp"
#include "support/log_watch.hpp"

#include <cinnabar/na/session/session_transport.hpp>

#include <string>

namespace cinnabar::na {
namespace {

class MalformedLines : public ContextTest {};

TEST_F(MalformedLines, OfOneTransportSilenceNoneOfAnother) {
    open(ThreadUse::one);
    support::Network other(support::NetworkKind::sim_friendly);
    const auto beside = other.open("b", {}).value();
    ASSERT_NE(beside->scheme(), inner_->scheme());
    support::LogWatch log;
    log.allow("malformed frame");
    const auto malformed_over = [this](Transport& transport) {
        static_cast<SessionTransport&>(transport).log_malformed(*peer_, "malformed frame");
    };
    for (int i = 0; i < 100; ++i) malformed_over(*inner_);
    const unsigned of_first = log.allowed();
    EXPECT_GE(of_first, 1u);
    EXPECT_LT(of_first, 100u) << "they are limited";
    malformed_over(*beside);
    EXPECT_EQ(log.allowed(), of_first + 1);
    EXPECT_NE(log.allowed_fields().find("transport=" + std::string(beside->scheme())), std::string::npos);
}

}  // namespace
}  // namespace cinnabar::na
