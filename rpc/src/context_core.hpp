// SPDX-License-Identifier: BSD-3-Clause
// The inside of an rpc::Context. Functions are the owner's (na/context.hpp) unless they say "any thread" or "trigger".
// They are spread over files by what happens, which the sections below name.
#pragma once

#include "far_moves.hpp"
#include "fences.hpp"
#include "frame.hpp"
#include "notices.hpp"
#include "overflow_pool.hpp"
#include "peer_book.hpp"
#include "request_table.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/spare_slot.hpp>
#include <cinnabar/bulk/transfer.hpp>
#include <cinnabar/rpc/context.hpp>
#include <cinnabar/rpc/engine.hpp>
#include <cinnabar/rpc/policy.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>

namespace cinnabar::rpc {

// A transfer that runs under a request.
struct RequestTransfer : PoolSlot {
    Request* request = nullptr;
    bulk::Transfer* transfer = nullptr;
    bulk::TransferDone done = nullptr;
    bulk::TransferProgress progress = nullptr;
    void* user = nullptr;
    Work finished;
    RequestTransfer* next = nullptr;
};

// The spare slot of the context whose callbacks this thread runs. initial-exec: accessed without a function call, even
// in a shared library.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local SpareSlot<Call> spare_call;

class ContextCore final : public na::Receiver {
  public:
    ContextCore(Engine& engine, const Options& options);
    ~ContextCore();
    [[nodiscard]] Result<void> open();
    void close() noexcept;
    void drop_replies() noexcept;
    void drop_messages() noexcept;

    // Sends what was accepted before the context closes (farewell.cpp).
    class Farewell;
    void let_leave() noexcept;

    // Calls, as origin (call.cpp).
    [[nodiscard, gnu::noinline]] Call* make_call(const na::Addr& to, Errc& why) noexcept;
    void submit(Call& call) noexcept;
    void enter_queue(Call& call, bool first) noexcept;
    [[nodiscard]] std::uint32_t write_request(Call& call, const PeerBook& book) const noexcept;
    [[nodiscard, gnu::noinline]] bool send(Call& call) noexcept;
    [[gnu::noinline]] void ask_for_times(Call& call) const noexcept;
    [[nodiscard]] bool send_plain(Call& call, PeerBook& book, std::uint64_t left) noexcept;
    [[nodiscard]] bool leaves_at_once(const Call& call, PeerBook& book, std::uint32_t bytes) noexcept;
    [[nodiscard, gnu::noinline]] bool send_whole_way(Call& call, std::uint32_t bytes) noexcept;
    void request_left(Call& call, PeerBook& book) noexcept;
    void note_sent(Call& call, PeerBook& book) noexcept;
    [[nodiscard]] Errc post_request(Call& call, std::uint32_t bytes) noexcept;
    void watch_deadline(Call& call) noexcept;
    [[gnu::noinline]] void watch_deadline_alone(Call& call) noexcept;
    [[gnu::noinline]] void arm_first_deadline(TimeUs deadline) noexcept;
    void forget_deadline(Call& call) noexcept;
    void look_at_deadlines() noexcept;
    [[nodiscard]] std::uint64_t time_left(const Call& call) const noexcept;
    void on_delayed(na::Peer& peer, na::OpKind kind, na::Tag tag, Bytes message) noexcept override;
    void request_sent(Call& call) noexcept;
    void finish(Call& call, Errc result) noexcept;
    void finish_answered(Call& call, PeerBook& book, TimeUs now) noexcept;
    void hand_to_caller(Call& call) noexcept;
    void let_go(Call& call, bool unanswered, bool target_may_know) noexcept;
    void complete_if_over(Call& call) noexcept;
    void cancel_requested(Call& call) noexcept;
    void cancel_if_under_way(Call& call) noexcept;
    void free_call(Call& call) noexcept;
    void reuse(Call& call) noexcept;
    void renew(Call& call) noexcept;
    [[gnu::noinline]] static void renew_whole_way(Call& call) noexcept;
    void deliver(Call& call) noexcept;  // trigger

    // For people (snapshot.cpp).
    class Snapshots;
    void note_phase(Call& call) noexcept;
    void note_phases(PeerBook& book) noexcept;

    // What waits to be sent (queue.cpp).
    [[nodiscard]] Call& next_to_send(PeerBook& book) noexcept;
    void pump(PeerBook& book) noexcept {
        if (!book.queued.empty()) send_queued(book);
    }
    [[gnu::noinline]] void send_queued(PeerBook& book) noexcept;
    [[nodiscard]] bool may_send(PeerBook& book) noexcept;
    void try_later(PeerBook& book) noexcept;
    void look_soon(PeerBook& book) noexcept;
    void look_again(PeerBook& book) noexcept;
    // A reply slot is free again; whoever waited for one may go on.
    void settle_reply(PeerBook& book) noexcept {
        if (book.replies_owed == 0) return;
        --book.replies_owed;
        --replies_owed;
        if (!reply_waiters.empty()) wake_reply_waiter();
    }
    [[gnu::noinline]] void wake_reply_waiter() noexcept;

    // Replies (reply.cpp).
    void on_expected(na::Arrival& arrival) noexcept override;
    [[nodiscard]] bool take_plain_reply(PeerBook& book, na::Arrival& arrival, bool timed) noexcept;
    [[gnu::noinline]] void take_any_reply(na::Arrival& arrival) noexcept;
    static void take_times(Call& call, ConstBytes reply) noexcept;
    [[nodiscard]] static bool copy_small_reply(Call& call, ConstBytes payload, ConstBytes& kept) noexcept;
    [[nodiscard]] Errc keep_reply(Call& call, na::Arrival& arrival, ConstBytes payload, ConstBytes& kept) noexcept;
    void release_reply(Call& call) noexcept;
    void accept_reply(Call& call, na::Arrival& arrival, const ReplyHeader& header, ConstBytes payload) noexcept;

    // Memory that a call has lent (call_lend.cpp, call_fence.cpp).
    void begin_fence(Call& call) noexcept;
    void release_came(Call& call) noexcept;
    void revoke_lends(Call& call) noexcept;
    void end_lends() noexcept;

    // Arguments and results that do not fit a message (overflow.cpp). The budget: any thread.
    // `peer`: for whose request; null for a call of this side.
    [[nodiscard]] Errc reserve_overflow(std::uint64_t bytes, PeerBook* peer) noexcept;
    void return_overflow(std::uint64_t bytes, PeerBook* peer) noexcept;
    [[nodiscard]] Errc allocate_overflow(std::uint64_t bytes, bulk::Region& region, PeerBook* peer) noexcept;
    void drop_overflow(bulk::Region& region, PeerBook* peer) noexcept;
    [[nodiscard]] Errc move_to_overflow(Call& call) noexcept;
    [[nodiscard]] Errc lend_overflow(Call& call) noexcept;
    [[nodiscard]] bool may_claim(const PeerBook& book, std::uint64_t bytes) const noexcept;
    void pull_output(Call& call, ConstBytes descriptor) noexcept;
    void pull_input(Request& request, ConstBytes descriptor) noexcept;
    void output_pulled(Call& call) noexcept;
    void input_pulled(Request& request) noexcept;
    void release_arguments(Request& request) noexcept;
    void drop_arguments(Request& request) noexcept;
    [[nodiscard]] Errc lend_result(Request& request) noexcept;
    void result_lent(Request& request) noexcept;
    void result_over(Request& request) noexcept;
    void keep_result(Request& request) noexcept;
    void result_released(Request& request) noexcept;

    // Large arguments and results that do not come, or too slowly (stall.cpp).
    void watch_pull(Request& request) noexcept;
    void watch_pull(Call& call) noexcept;
    [[nodiscard]] bool stalls(StallWatch& watch, const bulk::Transfer& pull) noexcept;
    [[nodiscard]] TimeUs next_stall_look() const noexcept;

    // Requests, as target (receive.cpp, request.cpp).
    void on_unexpected(na::Arrival& arrival) noexcept override;
    void on_notify(na::Peer& peer, std::uint32_t value) noexcept override;
    [[gnu::noinline]] void on_first_message(na::Arrival& arrival) noexcept;
    [[nodiscard]] bool accept_plain(PeerBook& book, na::Arrival& arrival) noexcept;
    void begin_plain(Request& request, PeerBook& book, const na::Arrival& arrival, const Handler& handler) noexcept;
    [[gnu::noinline]] void accept_request(PeerBook& book, na::Arrival& arrival,
                                          const Policy::Verdict* verdict = nullptr) noexcept;
    static void copy_input(Request& request, ConstBytes payload) noexcept;
    [[nodiscard]] TimeUs deadline_of(std::uint64_t time_left_us) const noexcept;
    void describe(Request& request, const RequestHeader& header, const Handler* handler) noexcept;
    [[gnu::noinline]] void describe_unusual(Request& request, std::uint16_t flags, const TraceContext& trace) noexcept;
    [[nodiscard]] Errc admit(Request& request, const RequestHeader& header) noexcept;
    [[nodiscard]] static Errc take_input(Request& request, na::Arrival& arrival, ConstBytes payload) noexcept;
    [[nodiscard]] bool crowded(const PeerBook& book) const noexcept;
    void begin(Request& request, PeerBook& book, const na::Arrival& arrival) noexcept;
    void start(Request& request) noexcept;
    // One of that peer's, by the id that it has there; null: it is not here, or came by an earlier connection.
    [[nodiscard]] Request* find_request(PeerBook& book, std::uint64_t tag) noexcept;
    void run_handler(Request& request) noexcept;  // trigger
    void answer_now(Request& request, Errc code) noexcept;
    [[nodiscard, gnu::noinline]] ConstBytes write_reply(Request& request, std::uint16_t given) const noexcept;
    [[nodiscard]] ConstBytes write_timed_reply(Request& request, ReplyHeader& header) const noexcept;
    [[nodiscard, gnu::noinline]] ConstBytes add_times(const Request& request, ConstBytes reply) const noexcept;
    [[nodiscard]] TargetTimes times_of(const Request& request) const noexcept;
    [[nodiscard]] bool reply_at_once(Request& request) noexcept;
    [[nodiscard]] bool reply_short_way(Request& request) noexcept;
    void post_reply(Request& request) noexcept;
    [[nodiscard]] Errc post_reply_op(Request& request, ConstBytes reply) noexcept;
    void post_reply_later(Request& request) noexcept;
    void reply_sent(Request& request) noexcept;
    void reply_failed(Request& request) noexcept;
    void reply_over(Request& request, Errc result) noexcept;
    void users_gone(Request& request) noexcept;
    void cancel_request(Request& request) noexcept;
    void tell_canceled(Request& request) noexcept;
    // Its receive slot is free again, and so is the credit that it stood for.
    void return_slot(Request& request) noexcept {
        if (request.holds_slot()) release_slot(request);
        if (!request.credit_returned_) return_credit(request);
    }
    void release_slot(Request& request) noexcept;
    void free_request_if_over(Request& request) noexcept;
    void end_whole_way(Request& request) noexcept;
    void free_request(Request& request) noexcept;
    [[gnu::noinline]] static void drop_message(Request& request) noexcept;
    void transfer_finished(RequestTransfer& node) noexcept;

    // Who may call what (access.cpp). Null: it may. A verdict that allows it: it may if its caller's quota does.
    [[nodiscard]] const Policy::Verdict* refusal_of(PeerBook& book, const Handler& handler,
                                                    ProviderId provider) noexcept {
        if (!policy || (book.verdicts && book.verdicts->allow(handler))) [[likely]]
            return nullptr;
        return ask_policy(book, handler, provider);
    }
    [[nodiscard]] const Policy::Verdict* ask_policy(PeerBook& book, const Handler& handler,
                                                    ProviderId provider) noexcept;
    void audit(const PeerBook& book, const Handler& handler, ProviderId provider,
               const Policy::Verdict& verdict) noexcept;
    [[nodiscard]] bool begin_verdicts(PeerBook& book) noexcept;
    [[nodiscard]] static Errc obey(Request& request, const Policy::Verdict& verdict) noexcept;
    [[nodiscard]] static Errc refuse_by_rule(Request& request, const Policy::Verdict& verdict) noexcept;
    void set_policy(std::shared_ptr<const Policy> wanted) noexcept;  // any thread

    // Handlers that run where the request was read (on_arrival.cpp).
    void run_on_arrival(Request& request, ConstBytes payload) noexcept;
    void keep_beyond_arrival(Request& request) noexcept;

    // Control messages (control.cpp).
    void send_control(PeerBook& book, const ControlRecord& record) noexcept;
    void flush_control(PeerBook& book) noexcept;
    [[gnu::noinline]] void end_session(PeerBook& book, const char* why) noexcept;
    void control_sent(PeerBook& book, Errc result) noexcept;
    [[gnu::noinline]] void on_control(PeerBook& book, ConstBytes bytes) noexcept;
    void apply_control(PeerBook& book, const ControlRecord& record) noexcept;

    // Books (peer_book.cpp).
    // Null: no memory.
    [[nodiscard]] PeerBook* book_of(na::Peer& peer) noexcept {
        return peer.upper ? static_cast<PeerBook*>(peer.upper) : make_book(peer);
    }
    [[nodiscard]] PeerBook* make_book(na::Peer& peer) noexcept;
    void open_book(PeerBook& book) noexcept;
    void drop_book_if_idle(PeerBook& book) noexcept {
        if (!book.open) drop_closed_book_if_idle(book);
    }
    [[gnu::noinline]] void drop_closed_book_if_idle(PeerBook& book) noexcept;
    void on_peer(na::Peer& peer, na::PeerEvent event, Errc why) noexcept override;
    // Lost connections (lost_connection.cpp).
    void close_book(PeerBook& book, Errc why) noexcept;
    void orphan_requests(PeerBook& book) noexcept;
    void end_orphans(PeerBook& book) noexcept;
    [[nodiscard]] bool books_add_up() noexcept;
    [[nodiscard]] static bool account_adds_up(const PeerBook& book) noexcept;
    void add_credits(PeerBook& book, std::uint32_t credits) noexcept;

    // Credits for requests (credits.cpp).
    // What goes along with a reply: what came back, and more for a peer that asks. None while too many replies to it
    // have not left.
    [[nodiscard]] std::uint16_t credits_for(PeerBook& book) noexcept {
        Credits& account = book.account;
        if (!account.may_give()) return 0;
        if (account.hungry()) grow_budget(book);
        const std::uint16_t given = account.give();
        if (account.starved.armed() && given != 0) na->disarm(account.starved);
        return given;
    }
    [[nodiscard]] std::uint32_t first_credits() const noexcept {
        return std::clamp(na->options().initial_credits, 1u, Credits::budget_max);
    }
    void return_credit(Request& request) noexcept;
    void retire_credit(PeerBook& book) noexcept;
    [[gnu::noinline]] void grow_budget(PeerBook& book) noexcept;
    [[gnu::noinline]] void watch_starving(PeerBook& book) noexcept;
    void grant_if_starved(PeerBook& book) noexcept;
    void recall_idle_credits() noexcept;
    void credits_returned(PeerBook& book, std::uint32_t credits) noexcept;
    void return_credits(PeerBook& book, std::uint32_t keep) noexcept;
    void reply_begins(PeerBook& book) noexcept {
        ++replies_unsent;
        book.account.reply_begins();
    }

    // Requests for which there is no slot, and who pays for it (refuse.cpp).
    void refuse_request(PeerBook& book, std::uint64_t id, std::uint16_t flags) noexcept;
    void request_refused(PeerBook& book, std::uint64_t id) noexcept;  // as origin
    void watch_debtors() noexcept;
    void close_debtor() noexcept;

    // Connections that nobody uses (evict.cpp).
    void make_room() noexcept;
    void asked_to_leave(PeerBook& book) noexcept;
    void peer_stays(PeerBook& book) noexcept;

    // Heartbeats (heartbeat.cpp).
    void watch_peer(PeerBook& book) noexcept;
    void beat(PeerBook& book) noexcept;

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
    std::shared_ptr<const Policy> policy = options.policy;  // null: none
    CallerAccounts callers;
    // Of each message.
    const std::uint16_t frame_flags = options.checksums ? flag_checksum : std::uint16_t{0};
    std::unique_ptr<na::Context> na;
    na::Port* only_port = nullptr;  // null where there are several
    std::unique_ptr<bulk::Mover> mover;
    FarMoves far_moves{*this};
    std::vector<std::vector<std::byte>> homes;  // of each transport, for home_of

    SlotPool<Call> calls;
    SlotPool<Request> requests;
    RequestTable request_table;  // of connections that are open; the newest of a peer may be missing (find_request)
    Request* at_hand = nullptr;  // taken, and in use only while a handler runs on arrival
    [[nodiscard, gnu::always_inline]] std::uint32_t requests_taken() const noexcept {
        return requests.taken() - (at_hand ? 1 : 0);
    }
    SlotPool<RequestTransfer> transfers;
    SlotPool<PeerBook> books;
    Notices notices;

    // What one peer may have of the request slots, so that there is room for others (docs/limits.md): credits; replies
    // that have not left, beyond which it gets no credits.
    const std::uint32_t peer_budget_max =
        std::min({options.credits_per_peer_max, requests.slots_max() / 8, Credits::budget_max});
    const std::uint32_t peer_unsent_max = std::max(peer_budget_max, 1u);
    // So many requests in handlers are never too many, whoever sent them (crowded()).
    const std::uint32_t uncrowded_max = options.requests_held_max / 2;
    // The first slots of calls and of requests keep their message for the next use; all keep their address.
    const std::uint32_t messages_retained;
    std::uint32_t replies_unsent = 0;  // replies that were posted, or wait to be, and have not left
    Timer debts;                       // runs since a request was refused

    IntrusiveList<Call, &Call::deadline_link_> deadlines;  // ascending
    Timer first_deadline;                                  // at or before the first of them

    std::uint32_t replies_owed = 0;  // of all peers
    std::uint32_t replies_kept = 0;  // that came, and still hold their slots
    std::uint32_t replies_owed_max = 0;
    IntrusiveList<PeerBook, &PeerBook::reply_waiter> reply_waiters;  // books that could send but for a reply slot
    std::uint32_t budgets = 0;                                       // credits made, of all peers
    std::uint32_t connections = 0;                                   // books that are open
    std::uint32_t connections_max = ~0u;
    std::uint32_t connections_leaving = 0;
    std::uint32_t evict_next = 0;         // the book that is looked at next
    std::uint32_t request_slots_max = 0;  // receive slots up to which budgets grow
    std::uint64_t sessions_ended = 0;     // by end_session
    std::uint32_t recall_next = 0;        // the book that is looked at next
    std::size_t queued_bytes = 0;
    std::uint32_t queued_calls = 0;
    SharedBudget overflow_budget{options.overflow_bytes_max};  // large arguments and results
    OverflowPool overflow_pool{options.overflow_kept_max};     // their memory, when they are over
    SharedBudget decoded_budget{options.decoded_bytes_max};    // what arguments take beyond decode_free_bytes

    // Calls whose cancel came before they did (unordered transports): a bounded memory, oldest overwritten.
    struct Tombstone {
        na::Peer* peer = nullptr;
        std::uint64_t call = 0;
    };
    std::array<Tombstone, 64> tombstones{};
    std::size_t tombstone_next = 0;
    bool tombstones_used = false;  // ever: ordered transports need none

    std::atomic<Context::PeerFunction> peer_function{nullptr};
    std::atomic<void*> peer_user{nullptr};

    Fences fences;  // of calls and of large results

    // What outlives close(): requests that handlers hold, calls that were never sent, fences that take their time.
    [[nodiscard]] bool held() const noexcept {
        return requests_taken() != 0 || calls.taken() != 0 || fences.in_progress() != 0;
    }
    void go_if_over() noexcept {
        if (closed_ && !held()) keep_alive.reset();
    }
    bool closing_ = false;  // no new calls
    bool closed_ = false;
    std::shared_ptr<ContextCore> keep_alive;  // of a closed core that is held
};

}  // namespace cinnabar::rpc
