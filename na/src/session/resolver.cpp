// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/background.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/session/resolver.hpp>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace cinnabar::na {

// Freed by whoever is the last to know of it: the resolver, or the context that it was submitted to.
struct HostLookup : Work {
    enum class Stage : std::uint8_t { queued, asking, submitted };

    std::vector<Uri> names;
    std::vector<SocketAddress> found;
    Errc why = Errc::ok;
    // The resolver's lock guards both.
    Stage stage = Stage::queued;
    PortHost* host = nullptr;       // null: no dial waits for it any more
    NameQuestion* asker = nullptr;  // the owner's

    static void deliver(Work& work) noexcept;
};

namespace {

constexpr std::size_t waiting_max = 256;
constexpr std::size_t known_max = 256;
constexpr unsigned threads_max = 4;
constexpr Microseconds known_for{10'000'000};
constexpr Microseconds failed_for{1'000'000};

class Resolver {
  public:
    // Never destroyed: its threads may wait for a name server when the process ends. A forked child gets a new one.
    static Resolver& of_process() noexcept;

    [[nodiscard]] Errc start(std::unique_ptr<HostLookup>& lookup) noexcept;
    void abandon(HostLookup& lookup) noexcept;
    // Waits until the thread that submits an answer has let go of the context that it was submitted to.
    void let_submit() noexcept { const std::lock_guard lock(mutex_); }
    void set_function(HostLookupFunction function) noexcept;

  private:
    struct Known {
        Errc why = Errc::ok;
        std::vector<SocketAddress> addresses;  // without a port
        TimeUs until = 0;
    };
    static std::atomic<Resolver*> instance;

    static void* run(void* self) {
        static_cast<Resolver*>(self)->serve();
        return nullptr;
    }
    void serve() noexcept;
    void answer(HostLookup& lookup, std::unique_lock<std::mutex>& lock) noexcept;
    [[nodiscard]] const Known* known(const std::string& host) const noexcept;
    void learn(const std::string& host, const Result<std::vector<SocketAddress>>& answer) noexcept;
    // What is known of all of its names; again: not of all.
    [[nodiscard]] Errc gather(HostLookup& lookup) const noexcept;

    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<HostLookup*> waiting_;
    std::unordered_map<std::string, Known> known_;
    HostLookupFunction function_ = &look_host_up;
    unsigned threads_ = 0;
    unsigned idle_ = 0;
};

std::atomic<Resolver*> Resolver::instance{nullptr};

Resolver& Resolver::of_process() noexcept {
    static std::mutex making;
    if (Resolver* made = instance.load(std::memory_order_acquire)) return *made;
    const std::lock_guard lock(making);
    if (Resolver* made = instance.load(std::memory_order_acquire)) return *made;
    static bool told = false;
    if (!std::exchange(told, true)) {
        (void)::pthread_atfork(nullptr, nullptr, [] { instance.store(nullptr, std::memory_order_release); });
    }
    auto* made = new Resolver;
    instance.store(made, std::memory_order_release);
    return *made;
}

const Resolver::Known* Resolver::known(const std::string& host) const noexcept {
    const auto at = known_.find(host);
    return at != known_.end() && steady_clock().now_us() < at->second.until ? &at->second : nullptr;
}

void Resolver::learn(const std::string& host, const Result<std::vector<SocketAddress>>& answer) noexcept {
    const TimeUs now = steady_clock().now_us();
    if (known_.size() >= known_max) {
        std::erase_if(known_, [now](const auto& entry) { return entry.second.until <= now; });
        if (known_.size() >= known_max) known_.clear();
    }
    known_[host] =
        answer ? Known{Errc::ok, *answer, after(now, known_for)} : Known{answer.code(), {}, after(now, failed_for)};
}

Errc Resolver::gather(HostLookup& lookup) const noexcept {
    lookup.found.clear();
    Errc why = Errc::bad_address;
    for (const Uri& name : lookup.names) {
        const Known* const there = known(name.host);
        if (!there) return Errc::again;
        if (there->why != Errc::ok) why = there->why;
        for (SocketAddress address : there->addresses) {
            address.set_port(name.port.value_or(0));
            if (std::find(lookup.found.begin(), lookup.found.end(), address) == lookup.found.end()) {
                lookup.found.push_back(address);
            }
        }
    }
    return lookup.found.empty() ? why : Errc::ok;
}

Errc Resolver::start(std::unique_ptr<HostLookup>& lookup) noexcept {
    const std::lock_guard lock(mutex_);
    if (const Errc there = gather(*lookup); there != Errc::again) return there;
    if (waiting_.size() >= waiting_max) return Errc::overloaded;
    if (idle_ <= waiting_.size() && threads_ < threads_max && run_in_background(&Resolver::run, this)) ++threads_;
    if (threads_ == 0) return Errc::overloaded;
    waiting_.push_back(lookup.release());
    came_.notify_one();
    return Errc::again;
}

void Resolver::abandon(HostLookup& lookup) noexcept {
    const std::lock_guard lock(mutex_);
    lookup.host = nullptr;
    lookup.asker = nullptr;
    if (lookup.stage != HostLookup::Stage::queued) return;
    std::erase(waiting_, &lookup);
    delete &lookup;
}

void Resolver::set_function(HostLookupFunction function) noexcept {
    const std::lock_guard lock(mutex_);
    function_ = function ? function : &look_host_up;
    known_.clear();
}

void Resolver::serve() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        came_.wait(lock, [this] { return !waiting_.empty(); });
        --idle_;
        HostLookup& next = *waiting_.front();
        waiting_.pop_front();
        answer(next, lock);
    }
}

void Resolver::answer(HostLookup& lookup, std::unique_lock<std::mutex>& lock) noexcept {
    lookup.stage = HostLookup::Stage::asking;
    for (const Uri& name : lookup.names) {
        if (!lookup.host || known(name.host)) continue;
        const HostLookupFunction function = function_;
        lock.unlock();
        const Result<std::vector<SocketAddress>> answer = function(name.host);
        lock.lock();
        learn(name.host, answer);
    }
    if (!lookup.host) {
        delete &lookup;
        return;
    }
    lookup.why = gather(lookup);
    // An answer has run out while another name was asked for.
    if (lookup.why == Errc::again) lookup.why = lookup.found.empty() ? Errc::bad_address : Errc::ok;
    lookup.stage = HostLookup::Stage::submitted;
    lookup.run = &HostLookup::deliver;
    // Under the lock: who abandons it, and closes the context then, waits for no more than this.
    lookup.host->submit(lookup);
}

}  // namespace

void HostLookup::deliver(Work& work) noexcept {
    const std::unique_ptr<HostLookup> self(static_cast<HostLookup*>(&work));
    Resolver::of_process().let_submit();  // the context may be closed as soon as this returns
    NameQuestion* const asker = self->asker;
    if (!asker) return;
    asker->lookup_ = nullptr;
    asker->answered(*asker, self->why, std::move(self->found));
}

Errc NameQuestion::ask(PortHost& host, std::span<const Uri> names, std::vector<SocketAddress>& found) noexcept {
    CINNABAR_ASSERT(!lookup_);
    auto lookup = std::make_unique<HostLookup>();
    lookup->names.assign(names.begin(), names.end());
    lookup->host = &host;
    lookup->asker = this;
    HostLookup* const asked = lookup.get();
    const Errc why = Resolver::of_process().start(lookup);
    if (why == Errc::again) {
        lookup_ = asked;
    } else if (why == Errc::ok) {
        found = std::move(lookup->found);
    }
    return why;
}

void NameQuestion::abandon() noexcept {
    if (HostLookup* const lookup = std::exchange(lookup_, nullptr)) Resolver::of_process().abandon(*lookup);
}

void set_host_lookup(HostLookupFunction function) noexcept { Resolver::of_process().set_function(function); }

}  // namespace cinnabar::na
