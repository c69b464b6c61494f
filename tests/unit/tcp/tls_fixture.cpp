// SPDX-License-Identifier: BSD-3-Clause
#include "tls_fixture.hpp"

namespace cinnabar::tcp {

std::string Relay::endpoint() const {
    const std::string plain = listener_.endpoint();
    return to_.substr(0, to_.find("://")) + plain.substr(plain.find("://"));
}

void Relay::step() {
    for (std::optional<RawSocket> came; (came = listener_.accept()).has_value();) {
        pairs_.push_back({*std::move(came), RawSocket(to_)});
    }
    for (std::size_t i = 0; i < pairs_.size();) {
        Pair& pair = pairs_[i];
        const bool over = pair.dialler.closed() || pair.target.closed();
        pass(pair.dialler, pair.target, true);
        pass(pair.target, pair.dialler, false);
        if (over) {
            pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
            ++i;
        }
    }
}

void Relay::pass(RawSocket& from, RawSocket& to, bool from_dialler) {
    auto bytes = from.take(from.received());
    if (!bytes || bytes->empty()) return;
    if (change_) *bytes = change_(*std::move(bytes), from_dialler);
    passed_ += bytes->size();
    to.write_if_open(*bytes);
}

std::string TlsTest::key(const std::string& name, const std::string& hex) {
    return support::put_key(folder_, "key" + std::to_string(++files_), name + ":" + hex);
}

na::TransportOptions TlsTest::with(na::TlsOptions tls, bool listen) {
    na::TransportOptions options;
    options.listen = listen;
    options.tls = std::move(tls);
    return options;
}

void TlsTest::authority(const std::string& name) {
    ASSERT_TRUE(
        tools::security::make_authority(folder_.at(name), name, tools::security::valid_for(std::chrono::days(1))));
}

na::TlsOptions TlsTest::certificate(const std::string& authority, const tools::security::Subject& subject,
                                    const tools::security::Validity& validity) {
    const std::string into = folder_.at("certificates" + std::to_string(++files_));
    const auto made = tools::security::make_certificate(folder_.at(authority), into, subject, validity);
    EXPECT_TRUE(made) << (made ? "" : made.error().message());
    const std::string path = into + "/" + subject.name;
    return {{}, path + ".pem", path + ".key", folder_.at(authority) + "/ca.pem", {}, {}};
}

Errc TlsTest::sent(Process& client, const std::string& endpoint, const std::function<void()>& meanwhile) {
    const TestOp& op = send(client, peer(client, endpoint), 1);
    EXPECT_TRUE(until([&] {
        if (meanwhile) meanwhile();
        return op.done();
    }));
    return op.result;
}

}  // namespace cinnabar::tcp
