// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/background.hpp>
#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/session/resolver.hpp>

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>

namespace cinnabar::na {

// One look-up. Freed by its last user: the resolver, or the context that it was submitted to.
struct HostLookup : WorkItem {
    enum class Stage : std::uint8_t { queued, asking, submitted };

    std::vector<Uri> names;
    std::vector<SocketAddress> found;
    Errc why = Errc::ok;
    // Guarded by the resolver's lock: stage and host.
    Stage stage = Stage::queued;
    PortHost* host = nullptr;       // null: no dial waits for the result any more
    NameQuestion* asker = nullptr;  // used only by the owner of the context

    static void deliver(WorkItem& work) noexcept;
};

namespace {

constexpr std::size_t waiting_max = 256;
constexpr std::size_t known_max = 256;
constexpr unsigned threads_max = 4;
constexpr Microseconds known_for{10'000'000};
constexpr Microseconds failed_for{1'000'000};

class Unlocked {
  public:
    explicit Unlocked(std::unique_lock<std::mutex>& lock) noexcept : lock_(lock) { lock_.unlock(); }
    ~Unlocked() { lock_.lock(); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

  private:
    std::unique_lock<std::mutex>& lock_;
};

// If a function throws bad_alloc, it has changed nothing.
class Resolver {
  public:
    // Never destroyed, because its threads may still wait for a name server when the process exits. A forked child gets
    // a new Resolver. May throw bad_alloc until the first successful call.
    static Resolver& of_process();

    [[nodiscard]] Errc start(std::unique_ptr<HostLookup>& lookup);
    void abandon(HostLookup& lookup) noexcept;
    // Waits until the thread that submitted an answer has stopped using the context.
    void let_submit() noexcept { const std::lock_guard lock(mutex_); }
    void set_function(HostLookupFunction function) noexcept;

  private:
    struct Known {
        Errc why = Errc::ok;
        std::vector<SocketAddress> addresses;  // without a port
        TimeUs until = 0;
    };

    static void* run(void* self) {
        static_cast<Resolver*>(self)->serve();
        return nullptr;
    }
    void serve() noexcept;
    void answer(HostLookup& lookup, std::unique_lock<std::mutex>& lock) noexcept;
    [[nodiscard]] Errc look_up(HostLookup& lookup, std::unique_lock<std::mutex>& lock);
    [[nodiscard]] const Known* known(const std::string& host) const noexcept;
    void learn(const std::string& host, const Result<std::vector<SocketAddress>>& answer);
    // Collects the cached answers for all names of a look-up; again: some are not cached.
    [[nodiscard]] Errc gather(HostLookup& lookup) const;

    std::mutex mutex_;
    std::condition_variable came_;
    std::vector<HostLookup*> waiting_;  // oldest first
    std::unordered_map<std::string, Known> known_;
    HostLookupFunction function_ = &look_host_up;
    unsigned threads_ = 0;
    unsigned idle_ = 0;
};

Resolver& Resolver::of_process() {
    alignas(Resolver) static std::byte place[sizeof(Resolver)];
    static Resolver& made = []() -> Resolver& {
        const int refused = ::pthread_atfork(nullptr, nullptr, [] { new (place) Resolver; });
        if (refused != 0) throw std::bad_alloc();
        return *new (place) Resolver;
    }();
    return made;
}

const Resolver::Known* Resolver::known(const std::string& host) const noexcept {
    const auto at = known_.find(host);
    return at != known_.end() && steady_clock().now_us() < at->second.until ? &at->second : nullptr;
}

void Resolver::learn(const std::string& host, const Result<std::vector<SocketAddress>>& answer) {
    const TimeUs now = steady_clock().now_us();
    if (known_.size() >= known_max) {
        std::erase_if(known_, [now](const auto& entry) { return entry.second.until <= now; });
        if (known_.size() >= known_max) known_.clear();
    }
    known_[host] =
        answer ? Known{Errc::ok, *answer, after(now, known_for)} : Known{answer.code(), {}, after(now, failed_for)};
}

Errc Resolver::gather(HostLookup& lookup) const {
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

Errc Resolver::start(std::unique_ptr<HostLookup>& lookup) {
    const std::lock_guard lock(mutex_);
    if (const Errc there = gather(*lookup); there != Errc::again) return there;
    if (waiting_.size() >= waiting_max) return Errc::overloaded;
    if (idle_ <= waiting_.size() && threads_ < threads_max && run_in_background(&Resolver::run, this)) ++threads_;
    if (threads_ == 0) return Errc::overloaded;
    waiting_.push_back(lookup.get());
    (void)lookup.release();
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
        waiting_.erase(waiting_.begin());
        answer(next, lock);
    }
}

Errc Resolver::look_up(HostLookup& lookup, std::unique_lock<std::mutex>& lock) {
    for (const Uri& name : lookup.names) {
        if (!lookup.host || known(name.host)) continue;
        const auto answer = [&, function = function_] {
            const Unlocked unlocked(lock);
            return function(name.host);
        }();
        learn(name.host, answer);
    }
    const Errc why = gather(lookup);
    if (why != Errc::again) return why;
    // The cached answer for one name expired while another name was looked up.
    return lookup.found.empty() ? Errc::bad_address : Errc::ok;
}

void Resolver::answer(HostLookup& lookup, std::unique_lock<std::mutex>& lock) noexcept {
    lookup.stage = HostLookup::Stage::asking;
    try {
        lookup.why = look_up(lookup, lock);
    } catch (const std::bad_alloc&) {
        lookup.why = Errc::out_of_memory;
        lookup.found.clear();
    }
    if (!lookup.host) {
        delete &lookup;
        return;
    }
    lookup.stage = HostLookup::Stage::submitted;
    lookup.run = &HostLookup::deliver;
    // Submits under the lock. A dial calls abandon() before its context closes; abandon() takes the same lock, and so
    // waits until this call is over.
    lookup.host->submit(lookup);
}

}  // namespace

void HostLookup::deliver(WorkItem& work) noexcept {
    const std::unique_ptr<HostLookup> self(static_cast<HostLookup*>(&work));
    Resolver::of_process().let_submit();  // the context may be closed as soon as this function returns
    NameQuestion* const asker = self->asker;
    if (!asker) return;
    asker->lookup_ = nullptr;
    asker->answered(*asker, self->why, std::move(self->found));
}

Errc NameQuestion::ask(PortHost& host, std::span<const Uri> names, std::vector<SocketAddress>& found) noexcept {
    CINNABAR_ASSERT(!lookup_);
    try {
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
    } catch (const std::bad_alloc&) {
        return Errc::out_of_memory;
    }
}

void NameQuestion::abandon() noexcept {
    if (HostLookup* const lookup = std::exchange(lookup_, nullptr)) Resolver::of_process().abandon(*lookup);
}

void set_host_lookup(HostLookupFunction function) noexcept { Resolver::of_process().set_function(function); }

}  // namespace cinnabar::na
