// SPDX-License-Identifier: BSD-3-Clause
// The inside of an rpc::Context: what it is made of, and how its parts reach one another. Functions are the owner's
// (na/context.hpp) unless they say "any thread".
#pragma once

#include "access.hpp"
#include "control.hpp"
#include "credit_pool.hpp"
#include "deadlines.hpp"
#include "debtors.hpp"
#include "far_moves.hpp"
#include "fences.hpp"
#include "frame.hpp"
#include "large_values.hpp"
#include "notices.hpp"
#include "origin.hpp"
#include "overflow.hpp"
#include "peer_book.hpp"
#include "peers.hpp"
#include "replies.hpp"
#include "send_queue.hpp"
#include "serving.hpp"
#include "target.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/rpc/context.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace cinnabar::rpc {

class ContextCore final : public na::Receiver {
  public:
    ContextCore(Engine& engine, const Options& options);
    ~ContextCore();
    [[nodiscard]] Result<void> open();
    void close() noexcept;
    void deliver_all() noexcept;

    // For people (snapshot.cpp).
    class Snapshots;

    void on_unexpected(na::Arrival& arrival) noexcept override { target.on_unexpected(arrival); }
    void on_expected(na::Arrival& arrival) noexcept override { replies.on_expected(arrival); }
    void on_delayed(na::Peer& peer, na::OpKind kind, na::Tag tag, Bytes message) noexcept override {
        origin.on_delayed(peer, kind, tag, message);
    }
    void on_notify(na::Peer& peer, std::uint32_t value) noexcept override;
    void on_peer(na::Peer& peer, na::PeerEvent event, Errc why) noexcept override { peers.on_peer(peer, event, why); }

    // Any thread: owns the context for the call of `function`.
    template <typename F>
    void owned(F&& function) noexcept {
        if (closed_) {
            const std::lock_guard lock(after_close());
            return function();
        }
        const na::Context::Ownership ownership(*na);
        function();
    }
    // Nobody owns a closed context: threads that still release requests take turns by this. It outlives the core, whose
    // end may come inside.
    [[nodiscard]] static std::recursive_mutex& after_close() noexcept;
    // Runs `work` as the owner, at once if possible; after close(), here. Any thread.
    void run_owned(Work& work) noexcept {
        if (closed_) [[unlikely]]
            return run_closed(work);
        na->run_owned(work);
    }
    [[gnu::noinline]] static void run_closed(Work& work) noexcept {
        const std::lock_guard lock(after_close());
        work.run(work);
    }
    // The same from a thread that drives another context: never at once, but after close().
    void hand_over(Work& work) noexcept {
        if (closed_) return run_closed(work);
        na->submit(work);
    }
    [[nodiscard]] const std::shared_ptr<na::Transport>& transport_of(const na::Port& port) const noexcept;
    // What lends far memory; null: it cannot be had.
    [[nodiscard]] std::shared_ptr<na::Transport> far_lender() noexcept;
    // The encoded address by which others reach this process over that port's transport; empty when it does not listen.
    [[nodiscard]] ConstBytes home_of(const na::Port& port) const noexcept;

    Engine& engine;
    Context* facade = nullptr;
    const Options options;
    // Of each message.
    const std::uint16_t frame_flags = options.checksums ? flag_checksum : std::uint16_t{0};
    std::unique_ptr<na::Context> na;
    na::Port* only_port = nullptr;  // null where there are several
    std::unique_ptr<bulk::Mover> mover;
    // The first slots of calls and of requests keep their message for the next use; all keep their address.
    const std::uint32_t messages_retained;
    bool closing_ = false;  // no new calls
    bool closed_ = false;

    // As origin.
    Origin origin;
    Deadlines deadlines{*this};
    SendQueue queue{*this};
    Replies replies{*this};

    // As target.
    Target target;
    Serving serving;
    CreditPool credits;
    Debtors debtors{*this};
    Access access;

    // Either.
    Peers peers{*this};
    Control control{*this};
    Overflow overflow;
    LargeValues large{*this};
    Fences fences;  // of calls and of large results
    FarMoves far_moves{*this};
    Notices notices;

    // What outlives close(): requests that handlers hold, calls that were never sent, fences that take their time.
    [[nodiscard]] bool held() const noexcept {
        return target.taken() != 0 || origin.calls.taken() != 0 || fences.in_progress() != 0;
    }
    void go_if_over() noexcept {
        if (closed_ && !held()) keep_alive.reset();
    }
    std::shared_ptr<ContextCore> keep_alive;  // of a closed core that is held

  private:
    // Sends what was accepted before the context closes (farewell.cpp).
    class Farewell;
    void let_leave() noexcept;

    void share_slots(std::uint32_t slots) noexcept;
    void note_homes();
    void cancel_calls(bool one_way) noexcept;
    void drop_replies() noexcept;
    void drop_messages() noexcept;

    std::vector<std::vector<std::byte>> homes_;  // of each transport, for home_of
};

inline bool SendQueue::has_room(std::size_t bytes) const noexcept {
    return bytes_ + bytes <= core_.options.queued_bytes_max;
}

inline void Deadlines::forget(Call& call) noexcept {
    if (call.deadline_link_.linked) return calls_.remove(call);
    if (call.whole_way_) core_.na->disarm(call.timer_);
}

inline std::uint16_t CreditPool::for_reply(PeerBook& book) noexcept {
    Credits& account = book.account;
    if (!account.may_give()) return 0;
    if (account.hungry()) grow(book);
    const std::uint16_t given = account.give();
    if (account.starved.armed() && given != 0) core_.na->disarm(account.starved);
    return given;
}

inline void Serving::return_slot(Request& request) noexcept {
    if (request.holds_slot()) {
        if (!core_.closed_) request.kept_.port->release(request.kept_);
        request.kept_ = {};
    }
    if (!request.credit_returned_) core_.credits.come_back(request);
}

}  // namespace cinnabar::rpc
