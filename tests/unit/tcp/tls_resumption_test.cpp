// SPDX-License-Identifier: BSD-3-Clause
// Sessions resumed with tickets: they prove as much as those with signatures, and no ticket helps what is no longer
// valid.
#include "guards.hpp"
#include "stream.hpp"
#include "tls_fixture.hpp"
#include "wall_clock.hpp"
#include "wire.hpp"

#include <cinnabar/na/addr.hpp>

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::tcp {
namespace {

using tls::TicketCache;
using tls::TlsGuards;
using tls::TlsStream;
using Guards = std::shared_ptr<const TlsGuards>;
using std::chrono::system_clock;
using tools::security::Validity;
using namespace std::chrono_literals;

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using PrivateKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using File = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

// One end of a connection on the loopback.
class End {
  public:
    explicit End(const RawSocket& socket) : stream_(UniqueFd(::dup(socket.fd()))) {
        EXPECT_EQ(::fcntl(stream_.fd(), F_SETFL, O_NONBLOCK), 0);
    }
    [[nodiscard]] na::Stream& stream() { return stream_; }
    [[nodiscard]] TlsStream& tls() { return static_cast<TlsStream&>(*stream_.guard()); }
    [[nodiscard]] Errc state() const { return state_; }
    // Continues the handshake. After it, the accepting side sends a byte; the other side is done when the byte has
    // arrived.
    void step(TlsStream::Side side) {
        if (state_ != Errc::again) return;
        std::uint32_t events = 0;
        if (!established_) state_ = stream_.guard()->establish(events);
        if (state_ == Errc::ok && !established_) {
            established_ = true;
            std::byte byte{};
            if (side == TlsStream::Side::accepts) (void)stream_.send(&byte, 1);
        }
        if (established_ && side == TlsStream::Side::dials) {
            std::byte byte{};
            state_ = stream_.receive(&byte, 1).why;
        }
        if (state_ != Errc::again && state_ != Errc::ok) stream_.reset();
    }

  private:
    na::Stream stream_;
    Errc state_ = Errc::again;
    bool established_ = false;
};

// The outcome of a connection.
struct Outcome {
    Errc client = Errc::ok;
    Errc server = Errc::ok;
    bool resumed = false;
    std::string client_sees;
    std::string server_sees;
};

class TlsResumption : public TlsTest {
  protected:
    TlsResumption() {
        authority("ca");
        server_ = certificate("ca", server_of());
        ann_ = certificate("ca", {"ann", {}, false});
        const RawSocket probe(listener_.endpoint());
        address_ = na::SocketAddress::peer_of(probe.fd());
        EXPECT_TRUE(until([&] { return listener_.accept().has_value(); }));
    }
    [[nodiscard]] static Guards guards(const na::TlsOptions& tls, std::uint32_t resume_seconds = 300) {
        auto made = TlsGuards::make(tls, {.resume_seconds = resume_seconds, .scheme = {"tcps", Greeting::wire_bytes}});
        EXPECT_TRUE(made.ok());
        return *std::move(made);
    }

    // A connection whose client has already decided whether to use a ticket.
    struct Begun {
        std::unique_ptr<End> server;
        std::unique_ptr<End> client;
    };
    [[nodiscard]] Begun begin(const Guards& server, const Guards& client, const std::string& host = "127.0.0.1") {
        const RawSocket dialled(listener_.endpoint());
        std::optional<RawSocket> accepted;
        EXPECT_TRUE(until([&] { return (accepted = listener_.accept()).has_value(); }));
        Begun begun{std::make_unique<End>(*accepted), std::make_unique<End>(dialled)};
        const std::string endpoint = listener_.endpoint();
        const auto addr = na::Addr::parse("tcps://" + host + endpoint.substr(endpoint.rfind(':')));
        if (server) {
            EXPECT_EQ(server->protect_accepted(begun.server->stream()), Errc::ok);
        }
        EXPECT_EQ(client->protect_dialled(begun.client->stream(), addr.value()), Errc::ok);
        return begun;
    }
    [[nodiscard]] Outcome end(Begun begun) {
        End& client = *begun.client;
        End& server = *begun.server;
        EXPECT_TRUE(until([&] {
            client.step(TlsStream::Side::dials);
            server.step(TlsStream::Side::accepts);
            return client.state() != Errc::again && server.state() != Errc::again;
        }));
        Outcome outcome{client.state(), server.state(), false, {}, {}};
        if (outcome.client != Errc::ok || outcome.server != Errc::ok) return outcome;
        EXPECT_EQ(client.tls().resumed(), server.tls().resumed());
        EXPECT_EQ(client.tls().identity().by, server.tls().identity().by);
        outcome.resumed = client.tls().resumed();
        outcome.client_sees = client.tls().identity().name;
        outcome.server_sees = server.tls().identity().name;
        return outcome;
    }
    [[nodiscard]] Outcome shake(const Guards& server, const Guards& client) { return end(begin(server, client)); }

    [[nodiscard]] static testing::AssertionResult is_good(const Outcome& outcome, bool resumed) {
        if (outcome.client == Errc::ok && outcome.server == Errc::ok && outcome.resumed == resumed &&
            outcome.client_sees == "server" && outcome.server_sees == "ann")
            return testing::AssertionSuccess();
        return testing::AssertionFailure()
               << "client: " << to_string(outcome.client) << ", server: " << to_string(outcome.server)
               << (outcome.resumed ? ", resumed, " : ", in full, ") << outcome.client_sees << " and "
               << outcome.server_sees;
    }
    [[nodiscard]] static testing::AssertionResult is_resumed(const Outcome& outcome) { return is_good(outcome, true); }
    [[nodiscard]] static testing::AssertionResult is_full(const Outcome& outcome) { return is_good(outcome, false); }

    [[nodiscard]] TicketCache::Ticket ticket_of(const Guards& client) {
        TicketCache::Ticket ticket = client->tickets().take(address_);
        EXPECT_TRUE(ticket);
        return ticket;
    }

    [[nodiscard]] File open_file(const std::string& name, const char* how = "r") const {
        return {std::fopen(folder_.at(name).c_str(), how), &std::fclose};
    }
    [[nodiscard]] PrivateKey key_of_authority() const {
        return {PEM_read_PrivateKey(open_file("ca/ca.key").get(), nullptr, nullptr, nullptr), &EVP_PKEY_free};
    }
    // The authority's revocation list, with another end of validity.
    [[nodiscard]] std::string list_until(system_clock::time_point end) const {
        const std::unique_ptr<X509_CRL, decltype(&X509_CRL_free)> list(
            PEM_read_X509_CRL(open_file("ca/ca.crl").get(), nullptr, nullptr, nullptr), &X509_CRL_free);
        const std::unique_ptr<ASN1_TIME, decltype(&ASN1_TIME_free)> time(
            ASN1_TIME_set(nullptr, system_clock::to_time_t(end)), &ASN1_TIME_free);
        EXPECT_EQ(X509_CRL_set1_nextUpdate(list.get(), time.get()), 1);
        EXPECT_GT(X509_CRL_sign(list.get(), key_of_authority().get(), EVP_sha256()), 0);
        EXPECT_EQ(PEM_write_X509_CRL(open_file("short.crl", "w").get(), list.get()), 1);
        return folder_.at("short.crl");
    }

    WallClock clock_;
    RawListener listener_;
    na::SocketAddress address_;
    na::TlsOptions server_;
    na::TlsOptions ann_;
};

TEST_F(TlsResumption, ASessionIsResumedWithItsIdentity) {
    const Guards server = guards(server_);
    const Guards client = guards(ann_);
    EXPECT_TRUE(is_full(shake(server, client)));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_resumed(shake(server, client)));
    EXPECT_TRUE(is_full(shake(server, guards(ann_)))) << "who has no ticket";
    const Guards without = guards(ann_, 0);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(is_full(shake(server, without)));
    EXPECT_TRUE(is_full(shake(guards(server_, 0), client)));
    EXPECT_EQ(without->tickets().size(), 0u);
}

TEST_F(TlsResumption, ATicketIsOfferedOnce) {
    const Guards server = guards(server_);
    const Guards client = guards(ann_);
    EXPECT_TRUE(is_full(shake(server, client)));
    EXPECT_EQ(client->tickets().size(), 1u);
    Begun first = begin(server, client);
    EXPECT_EQ(client->tickets().size(), 0u);
    Begun second = begin(server, client);
    EXPECT_TRUE(is_resumed(end(std::move(first))));
    EXPECT_TRUE(is_full(end(std::move(second)))) << "at the same time";
    EXPECT_EQ(client->tickets().size(), 2u);
}

TEST_F(TlsResumption, ASharedKeyIsNotResumed) {
    const Guards server = guards(alice());
    const Guards client = guards(alice());
    for (int i = 0; i < 2; ++i) {
        const Outcome outcome = shake(server, client);
        EXPECT_EQ(outcome.server, Errc::ok);
        EXPECT_EQ(outcome.server_sees, "alice");
        EXPECT_FALSE(outcome.resumed);
    }
    EXPECT_EQ(client->tickets().size(), 0u);
}

TEST_F(TlsResumption, AServerThatBeganAnewKnowsNoTicket) {
    const Guards client = guards(ann_);
    EXPECT_TRUE(is_full(shake(guards(server_), client)));
    const Guards server = guards(server_);
    EXPECT_TRUE(is_full(shake(server, client))) << "and says nothing of it";
    EXPECT_TRUE(is_resumed(shake(server, client)));
}

// Without new guards, only dates can make something invalid.
TEST_F(TlsResumption, WhatHasRunOutIsNotResumed) {
    log_.allow("has a certificate that is not believed");
    log_.allow("whose list in the file of crl is out of its time");
    log_.allow("does not accept this side's certificate");
    const Validity short_time{system_clock::now() - 1h, system_clock::now() + 100s};
    const Guards server = guards(server_);
    const Guards short_server = guards(certificate("ca", server_of(), short_time));
    na::TlsOptions listing = server_;
    listing.crl_file = list_until(short_time.until);
    const Guards short_list = guards(listing);
    const Guards client = guards(certificate("ca", {"ann", {}, false}, short_time));
    const std::array patient{guards(ann_), guards(ann_)};
    for (const bool resumed : {false, true}) {
        EXPECT_TRUE(is_good(shake(server, client), resumed));
        EXPECT_TRUE(is_good(shake(short_server, patient[0]), resumed));
        EXPECT_TRUE(is_good(shake(short_list, patient[1]), resumed));
    }
    clock_.set(150s);
    const Outcome outcome = shake(server, client);
    EXPECT_EQ(outcome.server, Errc::permission);
    EXPECT_EQ(outcome.client, Errc::permission);
    EXPECT_EQ(shake(short_server, patient[0]).client, Errc::permission);
    EXPECT_EQ(shake(short_list, patient[1]).server, Errc::permission);
}

// Each connection brings a new ticket, but none is valid for longer than the first.
TEST_F(TlsResumption, NewTicketsDoNotProlongTheTime) {
    const Guards server = guards(server_);
    const Guards client = guards(ann_);
    EXPECT_TRUE(is_full(shake(server, client)));
    clock_.set(200s);
    EXPECT_TRUE(is_resumed(shake(server, client)));
    clock_.set(290s);
    EXPECT_TRUE(is_resumed(shake(server, client)));
    clock_.set(310s);
    EXPECT_TRUE(is_full(shake(server, client)));
    EXPECT_TRUE(is_resumed(shake(server, client)));
}

// Tests only the server: the client's copy of the ticket claims to be valid.
TEST_F(TlsResumption, TheServerGoesByItsOwnTerm) {
    const Guards server = guards(server_, 60);
    const Guards client = guards(ann_, 3600);
    EXPECT_TRUE(is_full(shake(server, client)));
    const TicketCache::Ticket ticket = ticket_of(client);
    const auto shaken_at = [&](std::chrono::seconds time) {
        client->tickets().keep(address_, TicketCache::Ticket(SSL_SESSION_dup(ticket.get())));
        clock_.set(time);
        return shake(server, client);
    };
    EXPECT_TRUE(is_resumed(shaken_at(50s)));
    EXPECT_TRUE(is_full(shaken_at(70s)));
}

TEST_F(TlsResumption, ATicketIsForTheNameThatWasDialled) {
    log_.allow("(hostname mismatch)");
    log_.allow("does not accept this side's certificate");
    const Guards server = guards(server_);
    const Guards client = guards(ann_);
    EXPECT_TRUE(is_full(shake(server, client)));
    EXPECT_EQ(end(begin(server, client, "localhost")).client, Errc::permission) << "the certificate is for 127.0.0.1";
}

// The session with `change` applied to its ticket.
TicketCache::Ticket with_ticket(SSL_SESSION* session, const std::function<void(std::span<unsigned char>)>& change) {
    std::vector<unsigned char> der(static_cast<std::size_t>(i2d_SSL_SESSION(session, nullptr)));
    unsigned char* to = der.data();
    EXPECT_EQ(i2d_SSL_SESSION(session, &to), static_cast<int>(der.size()));
    const unsigned char* ticket = nullptr;
    std::size_t bytes = 0;
    SSL_SESSION_get0_ticket(session, &ticket, &bytes);
    const auto at = std::search(der.begin(), der.end(), ticket, ticket + bytes);
    EXPECT_NE(at, der.end());
    change({&*at, bytes});
    const unsigned char* from = der.data();
    TicketCache::Ticket made(d2i_SSL_SESSION(nullptr, &from, static_cast<long>(der.size())));
    EXPECT_TRUE(made);
    return made;
}

TEST_F(TlsResumption, ATicketThatWasChangedLeadsToAFullHandshake) {
    const Guards server = guards(server_);
    const Guards client = guards(ann_);
    EXPECT_TRUE(is_full(shake(server, client)));
    const TicketCache::Ticket good = ticket_of(client);
    client->tickets().keep(address_, with_ticket(good.get(), [](auto) {}));
    EXPECT_TRUE(is_resumed(shake(server, client))) << "the test takes sessions apart as OpenSSL does";
    const auto changed_at = [&](std::size_t offset, std::size_t count) {
        (void)client->tickets().take(address_);
        client->tickets().keep(address_, with_ticket(good.get(), [&](std::span<unsigned char> ticket) {
                                   const std::size_t at = std::min(offset, ticket.size() - count);
                                   for (unsigned char& byte : ticket.subspan(at, count)) byte ^= 0x55;
                               }));
        return shake(server, client);
    };
    for (const std::size_t offset : {0u, 16u, 32u, 200u, 100'000u}) {  // key name, vector, content, authentication code
        EXPECT_TRUE(is_full(changed_at(offset, 1))) << offset;
    }
    EXPECT_TRUE(is_full(changed_at(16, 300)));
}

// Somebody on the network may have seen the ticket. The server keeps no record of tickets, so only the secret protects
// it.
TEST_F(TlsResumption, ATicketIsOfNoUseWithoutItsSecret) {
    log_.allow("proves another key than this side has");
    log_.allow("does not accept this side's key");
    const Guards server = guards(server_);
    const Guards client = guards(ann_);
    EXPECT_TRUE(is_full(shake(server, client)));
    const TicketCache::Ticket seen = ticket_of(client);
    for (int i = 0; i < 2; ++i) {
        client->tickets().keep(address_, TicketCache::Ticket(SSL_SESSION_dup(seen.get())));
        EXPECT_TRUE(is_resumed(shake(server, client))) << "who has the secret may use it twice";
    }
    constexpr std::array<unsigned char, 32> guess{1, 2, 3};
    EXPECT_EQ(SSL_SESSION_set1_master_key(seen.get(), guess.data(), guess.size()), 1);
    client->tickets().keep(address_, TicketCache::Ticket(SSL_SESSION_dup(seen.get())));
    const Outcome outcome = shake(server, client);
    EXPECT_EQ(outcome.server, Errc::permission);
    EXPECT_EQ(outcome.client, Errc::permission);
}

// Signed by `issuer`, and valid for certificates that are authorities themselves.
void sign(X509& certificate, X509& issuer, EVP_PKEY& key) {
    EXPECT_EQ(X509_set_issuer_name(&certificate, X509_get_subject_name(&issuer)), 1);
    const int at = X509_get_ext_by_NID(&certificate, NID_basic_constraints, -1);
    X509_EXTENSION_free(X509_delete_ext(&certificate, at));
    X509_EXTENSION* const authority = X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
    EXPECT_EQ(X509_add_ext(&certificate, authority, -1), 1);
    X509_EXTENSION_free(authority);
    EXPECT_GT(X509_sign(&certificate, &key, EVP_sha256()), 0);
}

// The ticket would have to carry the certificates between this one and the CA's.
TEST_F(TlsResumption, ACertificateThatOthersStandBehindIsNotResumed) {
    authority("between");
    const PrivateKey key = key_of_authority();
    const Certificate root(PEM_read_X509(open_file("ca/ca.pem").get(), nullptr, nullptr, nullptr), &X509_free);
    const Certificate between(PEM_read_X509(open_file("between/ca.pem").get(), nullptr, nullptr, nullptr), &X509_free);
    ASSERT_TRUE(key && root && between);
    sign(*root, *root, *key);
    sign(*between, *root, *key);
    na::TlsOptions bob = certificate("between", {"ann", {}, false});
    na::TlsOptions known = ann_;
    PEM_write_X509(File(std::fopen(bob.certificate_file.c_str(), "a"), &std::fclose).get(), between.get());
    PEM_write_X509(File(std::fopen(known.certificate_file.c_str(), "a"), &std::fclose).get(), root.get());
    bob.ca_file = server_.ca_file = known.ca_file = folder_.at("root.pem");
    PEM_write_X509(open_file("root.pem", "w").get(), root.get());
    const Guards server = guards(server_);
    const Guards client = guards(bob);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(is_full(shake(server, client)));
    EXPECT_EQ(client->tickets().size(), 0u);
    const Guards other = guards(known);
    EXPECT_TRUE(is_full(shake(server, other)));
    EXPECT_TRUE(is_resumed(shake(server, other))) << "the CA's own beside it does no harm";
}

int choose_cinnabar(SSL*, const unsigned char** out, unsigned char* bytes, const unsigned char* in, unsigned, void*) {
    *out = in + 1;
    *bytes = in[0];
    return SSL_TLSEXT_ERR_OK;
}

// A plain OpenSSL server with a valid certificate.
TEST_F(TlsResumption, AServerCannotFillTheMemoryWithTickets) {
    constexpr std::size_t tickets = 200;
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_method()), &SSL_CTX_free);
    ASSERT_EQ(SSL_CTX_use_certificate_chain_file(context.get(), server_.certificate_file.c_str()), 1);
    ASSERT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), server_.private_key_file.c_str(), SSL_FILETYPE_PEM), 1);
    SSL_CTX_set_alpn_select_cb(context.get(), &choose_cinnabar, nullptr);
    ASSERT_EQ(SSL_CTX_set_num_tickets(context.get(), tickets), 1);
    const Guards client = guards(ann_);
    Begun begun = begin(nullptr, client);
    const std::unique_ptr<SSL, decltype(&SSL_free)> connection(SSL_new(context.get()), &SSL_free);
    SSL_set_fd(connection.get(), begun.server->stream().fd());
    bool accepted = false;
    ASSERT_TRUE(until([&] {
        accepted = accepted || (SSL_accept(connection.get()) == 1 && SSL_write(connection.get(), "x", 1) == 1);
        begun.client->step(TlsStream::Side::dials);
        return begun.client->state() != Errc::again;
    }));
    EXPECT_EQ(begun.client->state(), Errc::ok);
    EXPECT_EQ(client->tickets().size(), 2u);
}

TEST_F(TlsResumption, TheCacheIsBoundedAndGivesTheNewest) {
    TicketCache cache;
    const auto keep = [&](std::uint16_t port) {
        TicketCache::Ticket ticket(SSL_SESSION_new());
        SSL_SESSION* const at = ticket.get();
        cache.keep(na::SocketAddress::any_v4(port), std::move(ticket));
        return at;
    };
    (void)keep(1);
    for (unsigned i = 0; i < 100; ++i) (void)keep(2);
    EXPECT_EQ(cache.size(), 1 + TicketCache::tickets_of_address_max) << "one of many leaves those of others";
    SSL_SESSION* const newest = keep(2);
    EXPECT_EQ(cache.take(na::SocketAddress::any_v4(2)).get(), newest);
    EXPECT_FALSE(cache.take(na::SocketAddress::any_v4(3)));
    for (std::uint16_t port = 100; port < 1'000; ++port) (void)keep(port);
    EXPECT_EQ(cache.size(), TicketCache::tickets_max);
    EXPECT_FALSE(cache.take(na::SocketAddress::any_v4(1))) << "the oldest has gone";
}

// Over the transport itself, as seen by somebody on the network.
TEST_F(TlsResumption, ADialIsResumedAndItsBytesAreOfNoUseToOthers) {
    Process& server = serve(server_);
    Process& client = dial_from(ann_);
    Relay relay(server.endpoint());
    std::vector<std::byte> said;
    relay.change([&](std::vector<std::byte> bytes, bool from_dialler) {
        if (from_dialler) said.insert(said.end(), bytes.begin(), bytes.end());
        return bytes;
    });
    na::Peer& there = peer(client, relay.endpoint());
    const auto bytes_of_message = [&](na::Tag tag) {
        const std::size_t before = relay.passed();
        (void)send(client, there, tag);
        EXPECT_TRUE(until([&] {
            relay.step();
            return server.receiver.count_tag(tag) == 1;
        }));
        return relay.passed() - before;
    };
    const std::size_t in_full = bytes_of_message(1);
    std::array<std::byte, 64> theirs{};
    std::array<std::byte, 64> ours{};
    const Lent& lent = lend(server, {{theirs.data(), theirs.size()}});
    const auto local = registered(client, {{ours.data(), ours.size()}});
    const std::size_t before = relay.passed();
    const TestOp& get = rma(client, there, na::OpKind::get, *local, lent, ours.size());
    EXPECT_TRUE(until([&] {
        relay.step();
        return get.done();
    }));
    EXPECT_EQ(get.result, Errc::ok);
    EXPECT_LT(relay.passed() - before + 800, in_full) << "the second socket of the session";
    relay.hang_up();
    ASSERT_TRUE(until([&] { return client.receiver.count(na::PeerEvent::lost) == 1; }));
    said.clear();
    EXPECT_LT(bytes_of_message(2) + 800, in_full) << "neither certificates nor signatures";
    EXPECT_EQ(server.receiver.messages.back().source->addr().identity()->name, "ann");
    const std::size_t connected = server.receiver.count(na::PeerEvent::connected);
    log_.allow("was changed on the way");
    RawSocket again(server.endpoint());
    again.write(said);
    EXPECT_TRUE(until([&] { return again.closed(); }));
    EXPECT_EQ(server.receiver.count(na::PeerEvent::connected), connected);
    EXPECT_EQ(server.receiver.count_tag(2), 1u);
}

// One end of a handshake in messages.
class InMemory final : public tls::Wire {
  public:
    InMemory(std::deque<std::byte>& in, std::deque<std::byte>& out) : in_(in), out_(out) {}
    [[nodiscard]] na::Moved receive(void* to, std::size_t bytes) noexcept override {
        const std::size_t count = std::min(bytes, in_.size());
        if (count == 0) return {0, Errc::again};
        const auto until = in_.begin() + static_cast<std::ptrdiff_t>(count);
        std::copy(in_.begin(), until, static_cast<std::byte*>(to));
        in_.erase(in_.begin(), until);
        return {count, Errc::ok};
    }
    [[nodiscard]] na::Moved send(const void* from, std::size_t bytes) noexcept override {
        const auto* const begin = static_cast<const std::byte*>(from);
        out_.insert(out_.end(), begin, begin + bytes);
        return {bytes, Errc::ok};
    }
    void cut() noexcept override {}
    [[nodiscard]] std::string log_name() const noexcept override { return "a peer"; }

  private:
    std::deque<std::byte>& in_;
    std::deque<std::byte>& out_;
};

// A handshake in messages, as those of verbss, at whose end the client has taken what the server sent after it. Whether
// it was resumed.
bool resumed_in_messages(const Guards& server, const Guards& client, const std::string& endpoint) {
    std::deque<std::byte> to_server;
    std::deque<std::byte> to_client;
    InMemory below_server(to_server, to_client);
    InMemory below_client(to_client, to_server);
    const na::Addr addr = na::Addr::parse(endpoint).value();
    const auto accepts = server->over(below_server, nullptr);
    const auto dials = client->over(below_client, &addr);
    Errc there = Errc::again;
    Errc here = Errc::again;
    std::uint32_t events = 0;
    for (int steps = 0; steps < 20 && (here == Errc::again || there == Errc::again); ++steps) {
        if (here == Errc::again) here = dials->establish(events);
        if (there == Errc::again) there = accepts->establish(events);
    }
    EXPECT_EQ(here, Errc::ok);
    EXPECT_EQ(there, Errc::ok);
    std::byte nothing{};
    const iovec piece{&nothing, 1};
    EXPECT_EQ(dials->receive(&piece, 1).why, Errc::again);
    EXPECT_TRUE(to_client.empty());
    EXPECT_EQ(accepts->identity().name, "ann");
    EXPECT_EQ(dials->identity().name, "server");
    EXPECT_EQ(dials->resumed(), accepts->resumed());
    return dials->resumed();
}

TEST_F(TlsResumption, AHandshakeInMessagesIsResumedByTheNumberThatIsDialled) {
    const Guards server = guards(server_);
    const Guards client = guards(ann_);
    EXPECT_FALSE(resumed_in_messages(server, client, "tcps://127.0.0.1:7"));
    EXPECT_EQ(client->tickets().size(), 1u);
    EXPECT_TRUE(resumed_in_messages(server, client, "tcps://127.0.0.1:7"));
    EXPECT_FALSE(resumed_in_messages(server, client, "tcps://127.0.0.1:8")) << "another server";
    EXPECT_TRUE(resumed_in_messages(server, client, "tcps://127.0.0.1:8"));
    EXPECT_TRUE(resumed_in_messages(server, client, "tcps://127.0.0.1:7")) << "by the ticket of a resumed session";
    EXPECT_FALSE(resumed_in_messages(guards(server_), client, "tcps://127.0.0.1:7")) << "other guards";
}

TEST_F(TlsResumption, AHandshakeInMessagesByAHostNameKeepsNoTicket) {
    const Guards server = guards(certificate("ca", server_of("localhost")));
    const Guards client = guards(ann_);
    EXPECT_FALSE(resumed_in_messages(server, client, "tcps://localhost:7"));
    EXPECT_EQ(client->tickets().size(), 0u);
    EXPECT_FALSE(resumed_in_messages(server, client, "tcps://localhost:7"));
}

}  // namespace
}  // namespace cinnabar::tcp
