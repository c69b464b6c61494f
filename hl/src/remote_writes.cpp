// SPDX-License-Identifier: BSD-3-Clause
#include "remote_made.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/remote_writes.hpp>
#include <cinnabar/hl/waiter.hpp>

#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace cinnabar::hl {
namespace detail {

// Shared with the writes in progress, so it may outlive the RemoteWrites. All lists are in the order of the numbers.
class WritesState : public std::enable_shared_from_this<WritesState> {
  public:
    WritesState(const NodeRef& node, const RemoteWritesOptions& options)
        : node_(node), options_(options), token_(stop_.get_token()) {}

    // `region`: null, or the local memory in place of `from`.
    [[nodiscard]] Result<void> write(const RemoteBytes& to, ConstBytes from, const bulk::Region* region,
                                     std::optional<std::uint32_t> notify);
    void fence() noexcept {
        const std::lock_guard lock(mutex_);
        fence_ = next_;
    }
    // False: the level is reached already.
    [[nodiscard]] bool begin(FlushWait& wait, WriteLevel level) noexcept;
    // Sends nothing more, and cancels what was sent.
    void drop() noexcept;
    [[nodiscard]] std::uint32_t in_progress() const noexcept {
        const std::lock_guard lock(mutex_);
        return count_;
    }
    // Declares that this executor waits for the writes.
    void is_awaited_by(Executor& executor) { RemoteTable::of(node_).is_awaited_by(executor); }

  private:
    // What is needed to send a write that a fence holds back.
    struct HeldBack : Framed {
        RemoteBytes to;
        std::vector<std::byte> copied;  // a copy of the bytes, if there are few
        ConstBytes from;
        bulk::Region region;  // empty: `from` is meant
        std::optional<std::uint32_t> notify;
        std::uint64_t after = 0;  // sent when all writes with lower numbers have ended
    };
    struct Write : Framed {
        std::uint64_t number = 0;
        bool lends = false;              // the local memory is used until the write has ended
        std::unique_ptr<HeldBack> held;  // null: it was sent
        ListLink<Write> link;
        ListLink<Write> lending_link;
        ListLink<Write> held_link;
    };
    class Ended;
    using Waits = IntrusiveList<FlushWait, &FlushWait::link>;
    using HeldList = IntrusiveList<Write, &Write::held_link>;

    [[nodiscard]] RemoteOptions options_of(std::optional<std::uint32_t> notify) const noexcept {
        RemoteOptions options;
        options.deadline = options_.deadline;
        options.stop = &token_;
        options.follow_owner = options_.follow_owner;
        options.notify = notify;
        return options;
    }
    // These require the lock.
    [[nodiscard]] bool have_ended(std::uint64_t before) const noexcept {
        return all_.empty() || all_.front()->number >= before;
    }
    [[nodiscard]] bool is_reached(const FlushWait& wait) const noexcept {
        if (!wait.only_sent) return have_ended(wait.before);
        return lending_.empty() || lending_.front()->number >= wait.before;
    }
    void remove(Write& write) noexcept;
    void take_held(HeldList& out) noexcept;
    void take_reached(Waits& out) noexcept;
    void tell_error(FlushWait& wait) noexcept {
        if (error_) wait.error.emplace(std::move(*error_));
        error_.reset();
    }

    void send(std::unique_ptr<Write> write, const RemoteBytes& to, ConstBytes from, const bulk::Region* region,
              std::optional<std::uint32_t> notify) noexcept;
    void send_held() noexcept;
    // `failed`: null, or the error, which is moved.
    void ended(std::unique_ptr<Write> write, Error* failed) noexcept;
    static void discard(HeldList& writes) noexcept {
        while (Write* const write = writes.pop_front()) delete write;
    }
    static void tell(Waits& waits) noexcept {
        while (FlushWait* const wait = waits.pop_front()) wait->reached(*wait);
    }

    const NodeRef node_;
    const RemoteWritesOptions options_;
    std::stop_source stop_;
    const std::stop_token token_;
    mutable std::mutex mutex_;  // guards the members below; nothing is sent, and no function called, under it
    std::uint64_t next_ = 0;    // the number of the next write
    std::uint64_t fence_ = 0;   // later writes wait for those with lower numbers
    std::uint32_t count_ = 0;
    bool sending_ = false;  // a thread is sending the writes that were held back
    std::optional<Error> error_;
    IntrusiveList<Write, &Write::link> all_;
    IntrusiveList<Write, &Write::lending_link> lending_;
    HeldList held_;
    Waits waits_;
};

// Ends a write with the outcome of its call. If memory runs out before there is an outcome, the destructor ends the
// write.
class WritesState::Ended {
  public:
    Ended(std::shared_ptr<WritesState> state, std::unique_ptr<Write> write) noexcept
        : state_(std::move(state)), write_(std::move(write)) {}
    Ended(Ended&&) noexcept = default;
    Ended& operator=(Ended&&) = delete;
    ~Ended() {
        if (!state_) return;
        Error failed(Errc::out_of_memory);
        end(&failed);
    }

    void expect(std::optional<Error> refused, bool not_followed) noexcept {
        refused_ = std::move(refused);
        not_followed_ = not_followed;
    }
    void operator()(const Result<RemoteReply>& reply) {
        if (!refused_ && reply) return end(nullptr);
        Error failed = remote_error(refused_, not_followed_, reply ? Error(Errc::canceled) : reply.error());
        end(&failed);
    }

  private:
    void end(Error* failed) noexcept {
        const std::shared_ptr<WritesState> state = std::exchange(state_, nullptr);
        state->ended(std::move(write_), failed);
    }

    std::shared_ptr<WritesState> state_;
    std::unique_ptr<Write> write_;
    std::optional<Error> refused_;
    bool not_followed_ = false;
};

Result<void> WritesState::write(const RemoteBytes& to, ConstBytes from, const bulk::Region* region,
                                std::optional<std::uint32_t> notify) {
    const std::uint64_t bytes = region ? region->bytes() : from.size();
    if (auto refused = refusal(to, target_of(node_, to, options_of(notify)), bytes, na::Access::write))
        return *std::move(refused);
    auto made = std::make_unique<Write>();
    made->lends = region || !is_inline(to, static_cast<std::size_t>(bytes));
    {
        const std::lock_guard lock(mutex_);
        if (error_)
            return Error(error_->code, "an earlier write failed: call flush(), which returns its error, then go on");
        if (count_ >= options_.writes_max)
            return Error(Errc::overloaded, "writes_max writes are in progress: call flush(), then go on");
        const bool waits = !have_ended(fence_);
        if (waits) {
            made->held = std::make_unique<HeldBack>();
            made->held->to = to;
            made->held->notify = notify;
            made->held->after = fence_;
            made->held->from = from;
            if (region) made->held->region = *region;
            if (!made->lends) made->held->copied.assign(from.begin(), from.end());
        }
        made->number = next_++;
        ++count_;
        all_.push_back(*made);
        if (made->lends) lending_.push_back(*made);
        if (waits) {
            held_.push_back(*made.release());  // send_held() and drop() own what is in that list
            return {};
        }
    }
    send(std::move(made), to, from, region, notify);
    return {};
}

void WritesState::send(std::unique_ptr<Write> write, const RemoteBytes& to, ConstBytes from, const bulk::Region* region,
                       std::optional<std::uint32_t> notify) noexcept {
    Ended when_ended(shared_from_this(), std::move(write));
    try {
        const RemoteOptions options = options_of(notify);
        RemoteMade made = region ? make_write(node_, to, *region, options) : make_write(node_, to, from, options);
        when_ended.expect(std::move(made.refused), made.not_followed);
        made.call.then(std::move(when_ended));
    } catch (const std::bad_alloc&) {
        return;  // the destructor of `when_ended` ends the write
    }
}

// Sends the writes that may be sent now. Runs on one thread at a time, so that the writes are sent in order, and so
// that a write that ends inside send() does not call this function recursively.
void WritesState::send_held() noexcept {
    std::unique_lock lock(mutex_);
    if (sending_) return;
    sending_ = true;
    while (!held_.empty() && have_ended(held_.front()->held->after)) {
        std::unique_ptr<Write> next(held_.pop_front());
        const std::unique_ptr<HeldBack> held = std::move(next->held);
        lock.unlock();
        const bool copied = !held->copied.empty();
        send(std::move(next), held->to, copied ? ConstBytes(held->copied) : held->from,
             held->region ? &held->region : nullptr, held->notify);
        lock.lock();
    }
    sending_ = false;
}

void WritesState::remove(Write& write) noexcept {
    all_.remove(write);
    if (write.lends) lending_.remove(write);
    --count_;
}

void WritesState::take_held(HeldList& out) noexcept {
    while (Write* const write = held_.pop_front()) {
        remove(*write);
        out.push_back(*write);
    }
}

void WritesState::take_reached(Waits& out) noexcept {
    for (FlushWait* wait = waits_.front(); wait;) {
        FlushWait* const next = Waits::next(*wait);
        if (is_reached(*wait)) {
            waits_.remove(*wait);
            tell_error(*wait);
            out.push_back(*wait);
        }
        wait = next;
    }
}

void WritesState::ended(std::unique_ptr<Write> write, Error* failed) noexcept {
    HeldList dropped;
    Waits reached;
    {
        const std::lock_guard lock(mutex_);
        remove(*write);
        if (failed) {
            if (!error_) error_.emplace(std::move(*failed));
            take_held(dropped);
        }
        take_reached(reached);
    }
    discard(dropped);
    send_held();
    tell(reached);
}

bool WritesState::begin(FlushWait& wait, WriteLevel level) noexcept {
    const std::lock_guard lock(mutex_);
    wait.before = next_;
    wait.only_sent = level == WriteLevel::sent;
    if (!is_reached(wait)) {
        waits_.push_back(wait);
        return true;
    }
    tell_error(wait);
    return false;
}

void WritesState::drop() noexcept {
    HeldList dropped;
    Waits reached;
    {
        const std::lock_guard lock(mutex_);
        take_held(dropped);
        if (!dropped.empty() && !error_) error_.emplace(Errc::canceled);
        take_reached(reached);
    }
    discard(dropped);
    stop_.request_stop();
    tell(reached);
}

}  // namespace detail

RemoteFlush::RemoteFlush(std::shared_ptr<detail::WritesState> writes, WriteLevel level) noexcept
    : writes_(std::move(writes)), level_(level) {}

RemoteFlush::~RemoteFlush() { CINNABAR_ASSERT(!link.linked); }

bool RemoteFlush::begin(detail::FlushWait& wait) noexcept { return writes_->begin(wait, level_); }

Result<void> RemoteFlush::wait() {
    if (!Waiter::may_block()) return Error{Errc::would_deadlock, advice(Errc::would_deadlock)};
    struct Blocked : detail::FlushWait {
        Waiter waiter;
    };
    Blocked blocked;
    writes_->is_awaited_by(blocked.waiter);
    blocked.reached = [](detail::FlushWait& self) noexcept { static_cast<Blocked&>(self).waiter.finish(); };
    if (begin(blocked)) blocked.waiter.wait();
    return blocked.outcome();
}

bool RemoteFlush::start(const TaskContext* task) noexcept {
    executor_ = executor_of(task);
    if (executor_) writes_->is_awaited_by(*executor_);
    reached = [](detail::FlushWait& self) noexcept {
        auto& flush = static_cast<RemoteFlush&>(self);
        if (flush.executor_) return continue_on(*flush.executor_, flush.job_);
        flush.job_.body(flush.job_);
    };
    return begin(*this);
}

RemoteWrites::RemoteWrites(const NodeRef& node, const RemoteWritesOptions& options)
    : state_(std::make_shared<detail::WritesState>(node, options)) {}

RemoteWrites& RemoteWrites::operator=(RemoteWrites&& other) noexcept {
    RemoteWrites taken(std::move(other));
    std::swap(state_, taken.state_);
    return *this;
}

RemoteWrites::~RemoteWrites() {
    if (state_) state_->drop();
}

Result<void> RemoteWrites::write(const RemoteBytes& to, ConstBytes from, std::optional<std::uint32_t> notify) {
    return state_->write(to, from, nullptr, notify);
}

Result<void> RemoteWrites::write(const RemoteBytes& to, const bulk::Region& from, std::optional<std::uint32_t> notify) {
    return state_->write(to, {}, &from, notify);
}

void RemoteWrites::fence() noexcept { state_->fence(); }

RemoteFlush RemoteWrites::flush(WriteLevel level) { return {state_, level}; }

std::uint32_t RemoteWrites::in_progress() const noexcept { return state_->in_progress(); }

}  // namespace cinnabar::hl
