// SPDX-License-Identifier: BSD-3-Clause
#include "session/client_session.hpp"

#include "session/copying_pack.hpp"
#include "session/remote_error.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::files {
namespace {

// The most memory that a server can make this client use: window size times buffers.
constexpr std::uint64_t buffer_bytes_max = 64u << 20;
constexpr std::uint32_t buffers_wanted = 24;
constexpr std::uint32_t windows_max_allowed = 32;
constexpr unsigned disk_threads = 2;
constexpr std::uint32_t packs_max = 2;

}  // namespace

ClientSession::ClientSession(const hl::NodeRef& node, na::Addr server, const Key* key, Keyless keyless)
    : node_(node),
      executor_(node.executor()),
      server_(std::move(server)),
      key_(key),
      keyless_(keyless),
      scope_(node),
      disk_(disk_threads),
      pace_(buffers_wanted),
      streams_(server_),
      packs_(packs_max) {}

hl::Task<Result<LoginOut>> ClientSession::log_in() {
    HelloIn hello;
    hello.version = protocol_version;
    hello.nonce = make_nonce();
    auto greeted = co_await node_.call(hello_rpc, server_, hello, session_deadline);
    if (!greeted) co_return from_remote(std::move(greeted).error());
    if (greeted->wants_key && !key_)
        co_return Error{Errc::permission,
                        "the server wants a key: give --key-file (without one, a server admits its own user on its own "
                        "host only)"};
    if (!greeted->wants_key && !key_ && keyless_ == Keyless::refused)
        co_return Error{Errc::permission,
                        "the server wants no key, and every user of this host can listen there: give --key-file, or "
                        "--insecure if that is meant"};
    if (!greeted->wants_key && keyless_ == Keyless::proven) key_ = nullptr;
    if (!greeted->wants_key && key_)
        co_return Error{Errc::permission, "the server has no key, so it is not the one that the key is for"};
    const Nonce nonce = greeted->challenge.nonce;
    LoginIn login;
    login.nonce = hello.nonce;
    login.challenge = greeted->challenge;
    if (key_) login.proof = key_->prove_client(hello.nonce, nonce);
    auto admitted = co_await node_.call(login_rpc, server_, login, session_deadline);
    if (!admitted) co_return from_remote(std::move(admitted).error());
    const LoginOut& out = *admitted;
    const Admission admission{hello.nonce, nonce, out.token, out.window_bytes, out.windows_max, out.precision};
    if (key_ && !key_->accepts_server(out.proof, admission))
        co_return Error{Errc::permission, "the server could not prove the key"};
    std::optional<Secret> secret;
    if (key_) secret = key_->session_secret(hello.nonce, nonce, out.token);
    seals_ = Seals(out.token, std::move(secret));
    co_return admitted;
}

hl::Task<Result<void>> ClientSession::open() {
    auto admitted = co_await log_in();
    if (!admitted) co_return std::move(admitted).error();
    window_bytes_ = admitted->window_bytes;
    windows_max_ = std::clamp(admitted->windows_max, 1u, windows_max_allowed);
    if (window_bytes_ == 0 || window_bytes_ > buffer_bytes_max / 2)
        co_return Error{Errc::protocol, "the server wants windows of an absurd size"};
    precision_ = admitted->precision;
    if (!precision_.is_possible())
        co_return Error{Errc::protocol, "the server says of its file system what is true of none"};
    const auto count = std::min<std::uint64_t>(buffers_wanted, buffer_bytes_max / window_bytes_);
    auto buffers = Buffers::make(window_bytes_, static_cast<std::uint32_t>(count));
    if (!buffers) co_return std::move(buffers).error();
    buffers_ = std::make_unique<Buffers>(*std::move(buffers));
    if (auto served = serve_own_calls(); !served) co_return std::move(served).error();
    HoldIn in;
    in.provider = provider_.value();
    seals_.stamp(in);
    // Runs on the node's loop, because the task that opened the session may end before the session does.
    if (const Errc spawned = scope_.spawn(hold(node_, server_, in)); spawned != Errc::ok) co_return spawned;
    // Lets the hold call be sent before the first file is opened.
    (void)co_await node_.sleep_for(Microseconds{0});
    co_return Result<void>();
}

// Each session of a node takes the next free provider number, which the server uses to call it.
Result<void> ClientSession::serve_own_calls() {
    constexpr std::uint16_t most = 0xffff;
    std::uint16_t number = 0;
    const auto serve_fill = [this, &number] {
        return node_.serve(
            fill_rpc, [this](hl::Request<FillIn> request) { return fill(std::move(request)); }, hl::provider(number));
    };
    Result<void> served = serve_fill();
    while (served.code() == Errc::exists && number < most) {
        ++number;
        served = serve_fill();
    }
    if (!served) return served;
    provider_ = number;
    served = node_.serve(
        take_pack_rpc,
        [this](hl::Request<TakePackIn> request) { return CopyingPack::serve_take(*this, std::move(request)); },
        hl::provider(number));
    if (!served) return served;
    served = node_.serve(
        pulled_rpc, [this](hl::Request<PulledIn> request) { return CopyingPack::serve_pulled(*this, request); },
        hl::provider(number));
    if (!served) return served;
    return node_.serve(
        take_rpc, [this](hl::Request<TakeIn> request) { return take(std::move(request)); }, hl::provider(number));
}

hl::Task<void> ClientSession::hold(hl::NodeRef node, na::Addr server, HoldIn in) {
    // The result is not used: whatever ends this call also fails the other calls, which report it.
    (void)co_await node.call(hold_rpc, server, in, hl::no_deadline);
}

hl::Task<void> ClientSession::close() {
    if (provider_) {
        (void)node_.withdraw(fill_rpc, *provider_);
        (void)node_.withdraw(take_rpc, *provider_);
        (void)node_.withdraw(take_pack_rpc, *provider_);
        (void)node_.withdraw(pulled_rpc, *provider_);
    }
    // Drives a node without a progress thread until the hold call has ended.
    (void)co_await node_.sleep_for(Microseconds{0});
    co_await inside_.none();
    scope_.request_stop();
    co_await scope_.join();
}

std::uint64_t ClientSession::lanes_for(std::uint64_t bytes) const noexcept {
    const std::uint64_t windows = bytes / window_bytes_ + (bytes % window_bytes_ != 0 ? 1 : 0);
    return std::min<std::uint64_t>(windows_max_, windows);
}

// Waits in short steps, so that a failure during the wait is reported soon.
hl::Task<Errc> ClientSession::keep_rate(std::uint64_t bytes, const std::optional<Error>& failure) {
    constexpr Microseconds step = std::chrono::milliseconds(100);
    Microseconds left = rate_.reserve(bytes, Rate::Clock::now());
    while (left.count() > 0 && !failure) {
        const Microseconds part = std::min(left, step);
        if (const Errc slept = co_await node_.sleep_for(part); slept != Errc::ok) co_return slept;
        left -= part;
    }
    co_return Errc::ok;
}

hl::Task<void> ClientSession::give_up(std::uint64_t file, bool keep) {
    AbortIn in;
    in.file = file;
    in.keep = keep;
    seals_.stamp(in);
    (void)co_await node_.call(abort_rpc, server_, in, session_deadline);
}

}  // namespace cinnabar::files
