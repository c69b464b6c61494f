// SPDX-License-Identifier: BSD-3-Clause
#include "session_crowd.hpp"

#include "session/protocol.hpp"

#include <utility>

namespace cinnabar::tools {
namespace {

constexpr unsigned life_logins = 40;
constexpr unsigned files_open = 16;
constexpr unsigned looks_silent = 30'000;

// Stays open until its node is destroyed.
hl::Task<void> hold(hl::NodeRef node, na::Addr server, files::HoldIn in) {
    hl::CallOptions options;
    options.deadline = hl::no_deadline;
    (void)co_await node.call(files::hold_rpc, server, in, options);
}

}  // namespace

SessionCrowd::SessionCrowd(unsigned members, std::string own, std::string server, const files::Key& key, Does does)
    : own_(std::move(own)), server_(std::move(server)), key_(key), does_(does), members_(members) {}

void SessionCrowd::come(Member& member) {
    member.node.reset();
    member.steps = 0;
    auto node = hl::Node::open(own_, {.progress_thread = false});
    if (!node) return;
    member.server = node->lookup(server_).value();
    member.node = *std::move(node);
}

void SessionCrowd::step() {
    Member& member = members_[next_];
    next_ = (next_ + 1) % members_.size();
    const unsigned life = does_ == Does::opens_and_silent ? looks_silent : life_logins;
    if (!member.node || member.steps > life) come(member);
    if (!member.node) return;
    if (member.steps++ > 0 && does_ == Does::opens_and_silent) return;  // it does not look
    log_in(member, does_ == Does::opens_and_silent);
    if (!std::exchange(member.began, true)) ++began_;
}

void SessionCrowd::log_in(Member& member, bool with_right_key) {
    files::HelloIn hello;
    hello.version = files::protocol_version;
    hello.nonce = files::make_nonce();
    const auto greeted = member.node->call(files::hello_rpc, member.server, hello).wait();
    ++(greeted ? served_ : refused_);
    if (!greeted || does_ == Does::half_logins) return;
    files::LoginIn login;
    login.nonce = hello.nonce;
    login.challenge = greeted->challenge;
    login.proof = key_.prove_client(hello.nonce, greeted->challenge.nonce);
    if (!with_right_key) login.proof[0] ^= 1;
    const auto accepted = member.node->call(files::login_rpc, member.server, login).wait();
    ++(accepted ? served_ : refused_);
    if (!accepted) return;
    auto secret = key_.session_secret(hello.nonce, login.challenge.nonce, accepted->token);
    open_files(member, files::Seals(accepted->token, std::move(secret)));
}

void SessionCrowd::open_files(Member& member, files::Seals seals) {
    files::HoldIn holding;
    seals.stamp(holding);
    (void)member.node->spawn(hold(*member.node, member.server, holding));
    for (unsigned i = 0; i < files_open; ++i) {
        files::OpenIn in;
        in.name = "silent-" + std::to_string(names_++);
        in.bytes = 3u << 20;
        in.attributes.mode = 0600;
        seals.stamp(in);
        const auto opened = member.node->call(files::open_rpc, member.server, in).wait();
        ++(opened ? served_ : refused_);
    }
}

}  // namespace cinnabar::tools
