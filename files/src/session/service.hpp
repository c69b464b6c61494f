// SPDX-License-Identifier: BSD-3-Clause
// The implementation of Server: sessions, and files being saved and fetched, behind typed RPCs (protocol.hpp). It runs
// on a node with one loop; only functions whose comments say so may be called from other threads.
//
// Lifetime: create the service before the node, and destroy the node first, which ends all handlers.
#pragma once

#include "session/access.hpp"
#include "session/batch.hpp"
#include "session/buffers.hpp"
#include "session/disk.hpp"
#include "session/download.hpp"
#include "session/known_remains.hpp"
#include "session/logins.hpp"
#include "session/pack.hpp"
#include "session/upload.hpp"

#include <cinnabar/files/name.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/request.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace cinnabar::files {

// Counts files in progress, so that drain() can wait until there are none. Any thread.
class UnderWay {
  public:
    void begin() noexcept;
    void end() noexcept;
    [[nodiscard]] std::uint32_t count() const noexcept;
    // Waits up to `span`. False: some files are still in progress.
    [[nodiscard]] bool wait_for_none(std::chrono::duration<double> span);

    class Entry {
      public:
        Entry(UnderWay& files, std::shared_ptr<Load> client, std::uint64_t bytes) noexcept
            : files_(files), client_(std::move(client)), bytes_(bytes) {
            files_.begin();
            ++client_->files;
            client_->bytes += bytes_;
        }
        ~Entry() {
            --client_->files;
            client_->bytes -= bytes_;
            files_.end();
        }
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;

      private:
        UnderWay& files_;
        std::shared_ptr<Load> client_;
        std::uint64_t bytes_;
    };

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint32_t count_ = 0;
};

// The names that are being saved, each by one client.
class Claims {
  public:
    class Claim {
      public:
        Claim(Claims& claims, std::string name) : claims_(claims), name_(std::move(name)) {
            claims_.names_.insert(name_);
        }
        ~Claim() { claims_.names_.erase(name_); }
        Claim(const Claim&) = delete;
        Claim& operator=(const Claim&) = delete;
        [[nodiscard]] const std::string& name() const noexcept { return name_; }

      private:
        Claims& claims_;
        std::string name_;
    };
    [[nodiscard]] bool taken(std::string_view name) const { return names_.contains(name); }

  private:
    std::set<std::string, std::less<>> names_;
};

// A file being saved, and one being fetched. Each is shared by its session and the handlers that work on it.
struct Saving {
    UnderWay::Entry entry;
    Claims::Claim claim;
    std::optional<Upload> upload;  // set once the file was created
    unsigned gaps = 0;             // consecutive checks that found a gap
    unsigned paced = 0;            // windows that wait for the client's rate
    Charge charge;
    na::Addr owner = {};  // the server that lends its windows (copy); empty: the client itself
};
struct Giving {
    UnderWay::Entry entry;
    std::string name;
    std::optional<Download> download;
    unsigned gaps = 0;
    unsigned paced = 0;
    bool summing = false;  // a step of its sum is running
};

// The answer to a call that names an unknown file, as sent to the client.
[[nodiscard]] Error no_file();

class Service {
  public:
    // out_of_memory: no memory for the buffers.
    [[nodiscard]] static Result<std::unique_ptr<Service>> make(Root root, std::optional<Key> key,
                                                               const ServerOptions& options, ServerHooks hooks);
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    // exists: the node serves a save service already.
    [[nodiscard]] Result<void> serve_on(const hl::NodeRef& node);

    // Server::replace_policy. Any thread.
    void replace_policy(std::shared_ptr<const AccessPolicy> policy) { access_.replace_policy(std::move(policy)); }

    // As Server::drain().
    [[nodiscard]] bool drain(std::chrono::duration<double> span);

  private:
    struct Batches;  // more calls (service_batches.hpp)
    Service(Root root, std::optional<Key> key, const ServerOptions& options, ServerHooks hooks, Buffers buffers);

    template <typename In>
    [[nodiscard]] Result<std::shared_ptr<Session>> session_of(const hl::Request<In>& request) const {
        CINNABAR_TRY(auto session, logins_.find(request->seal.token, request.source()));
        // Sizes are checked before the seal, whose check reads the whole argument, up to 64 MiB.
        if constexpr (requires { request->name; }) {
            if (request->name.size() > name_bytes_max) return Error{Errc::too_large, "the name is over 4095 bytes"};
        }
        if constexpr (requires { request->links; }) {
            if (request->links.below.size() > name_bytes_max)
                return Error{Errc::too_large, "the name of the folder is over 4095 bytes"};
        }
        if constexpr (requires { request->target; }) {
            if (request->target.size() > name_bytes_max)
                return Error{Errc::too_large, "the target of the link is over 4095 bytes"};
        }
        if constexpr (requires { request->attributes; }) {
            if (extended_bytes(request->attributes.extended) > extended_bytes_max)
                return Error{Errc::too_large, "the extended attributes are over 64 KiB"};
        }
        if constexpr (requires { request->blocks; }) {
            if (request->blocks.size() > blocks_in(options_.window_bytes))
                return Error{Errc::too_large, "a window has fewer blocks"};
        }
        if constexpr (requires { request->checksums; }) {
            if (request->checksums.size() > claimed_windows_max)
                return Error{Errc::too_large, "a call claims at most 16 windows"};
        }
        if constexpr (requires { request->files; }) CINNABAR_TRY_VOID(check_pack(*request));
        if constexpr (requires { check_batch(*request); }) CINNABAR_TRY_VOID(check_batch(*request));
        CINNABAR_TRY_VOID(session->seals.check(*request));
        return session;
    }
    [[nodiscard]] hl::Task<Result<void>> may_begin(const std::shared_ptr<Session>& session, std::uint64_t bytes,
                                                   hl::NodeRef node) const;
    // Attaches the session to the account of its client. overloaded: there are too many accounts.
    [[nodiscard]] Result<void> give_account(const LoginOut& out, const na::Addr& client);
    // Waits until the client's rate limit allows `bytes` more; `paced` counts the calls that wait. overloaded: the wait
    // would exceed the call's deadline (rate_wait_max).
    [[nodiscard]] hl::Task<Result<void>> keep_rate(const std::shared_ptr<Session>& session, std::uint64_t bytes,
                                                   hl::NodeRef node, unsigned& paced) const;
    // Opens the existing file of that name, if there is one and the client may compare with it.
    [[nodiscard]] hl::Task<std::optional<SourceFile>> basis_of(const OpenIn& in, const na::Addr& client);
    // Whether `files` more files of `bytes` bytes in all may begin: shutting_down, overloaded, too_large.
    [[nodiscard]] Result<void> has_room(const Session& session, std::uint64_t bytes, std::size_t files = 1) const;
    [[nodiscard]] Result<void> serve_files_on(const hl::NodeRef& node);

    [[nodiscard]] Result<HelloOut> hello(const hl::Request<HelloIn>& request);
    [[nodiscard]] Result<LoginOut> login(const hl::Request<LoginIn>& request);
    [[nodiscard]] hl::Task<Result<void>> hold(hl::Request<HoldIn> request);
    [[nodiscard]] hl::Task<Result<OpenOut>> open(hl::Request<OpenIn> request);
    [[nodiscard]] hl::Task<Result<WindowOut>> window(hl::Request<WindowIn> request);
    // Whether the server may connect to another server and pull a window of the file `name` from there. `owner`: the
    // server that lends the file's earlier windows, empty if there are none; set to the server that lends this window.
    [[nodiscard]] Result<void> may_follow(const Session& session, std::string_view name, std::uint64_t bytes,
                                          const hl::Bulk& window, na::Addr& owner) const;
    [[nodiscard]] hl::Task<Result<void>> push(hl::Request<PushIn> request);
    [[nodiscard]] hl::Task<Result<PackOut>> pack(hl::Request<PackIn> request);
    [[nodiscard]] hl::Task<Result<ReadPackOut>> read_pack(hl::Request<ReadPackIn> request);
    [[nodiscard]] hl::Task<Result<CommitOut>> commit(hl::Request<CommitIn> request);
    [[nodiscard]] hl::Task<Result<AskOut>> ask(hl::Request<AskIn> request);
    [[nodiscard]] hl::Task<Result<ReadOut>> read(hl::Request<ReadIn> request);
    [[nodiscard]] hl::Task<Result<LendOut>> lend(hl::Request<LendIn> request);
    [[nodiscard]] hl::Task<Result<SumOut>> sum(hl::Request<SumIn> request);
    // Opens the file and returns its number. `session` and `request` must live until the task ends.
    [[nodiscard]] hl::Task<Result<std::uint64_t>> begin_sum(const std::shared_ptr<Session>& session,
                                                            const hl::Request<SumIn>& request);
    [[nodiscard]] hl::Task<Result<SumOut>> sum_step(Download& file) const;
    [[nodiscard]] hl::Task<Result<FinishOut>> finish(hl::Request<FinishIn> request);
    [[nodiscard]] hl::Task<Result<void>> make(hl::Request<MakeIn> request);
    [[nodiscard]] hl::Task<Result<Listing>> list(hl::Request<ListIn> request);
    [[nodiscard]] hl::Task<Result<LookOut>> look(hl::Request<LookIn> request);
    [[nodiscard]] hl::Task<Result<void>> remove(hl::Request<RemoveIn> request);
    [[nodiscard]] hl::Task<Result<RemainsOut>> remains(hl::Request<RemainsIn> request);
    [[nodiscard]] Result<void> abort(const hl::Request<AbortIn>& request);
    void end_session(Session& session);
    void give_up(Session& session, std::uint64_t file, const Error& why);
    // Ends files whose windows wait for a missing earlier one, or to be sent again. Call once a second.
    void end_files_with_gaps(Session& session);
    // Every second, ends sessions that were not held in time and files with gaps; every minute, trims the remains.
    [[nodiscard]] hl::Task<void> watch_sessions(hl::NodeRef node);
    // Reports the error to ServerHooks::ended, and returns it in the form sent to the client.
    [[nodiscard]] Error failed(ServerEvent::Kind kind, const na::Addr& client, std::string_view name,
                               const Error& error) const;

    Root root_;
    KnownRemains known_;
    Disk disk_;
    Buffers buffers_;
    ServerOptions options_;
    ServerHooks hooks_;
    Access access_;
    Claims claims_;
    Accounts accounts_;
    UnderWay under_way_;
    std::uint64_t next_file_ = 1;
    std::atomic<bool> draining_{false};
    Logins logins_;  // destroyed first, because the files of its sessions refer to the members above
};

}  // namespace cinnabar::files
