// SPDX-License-Identifier: BSD-3-Clause
// Opening and closing a context and its ports; finding the port and the peer of an address.
#include "context_impl.hpp"

#include <cinnabar/base/assert.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>

namespace cinnabar::na {
namespace {

bool control(int epoll, int how, int fd, std::uint32_t epoll_events, FdEvents& ready) noexcept {
    epoll_event event{};
    event.events = epoll_events;
    event.data.ptr = &ready;
    return ::epoll_ctl(epoll, how, fd, &event) == 0;
}

// Ordinals are small so that an address can keep a shortcut per context.
class Ordinals {
  public:
    std::uint32_t take() {
        const std::lock_guard lock(mutex_);
        const auto free = std::find(taken_.begin(), taken_.end(), false);
        const auto index = static_cast<std::uint32_t>(free - taken_.begin());
        if (free == taken_.end()) {
            taken_.push_back(true);
        } else {
            *free = true;
        }
        return index;
    }
    void give(std::uint32_t index) {
        const std::lock_guard lock(mutex_);
        taken_[index] = false;
    }

  private:
    std::mutex mutex_;
    std::vector<bool> taken_;
};

Ordinals& ordinals() {
    static auto* all = new Ordinals;  // never destroyed, because static contexts may outlive it otherwise
    return *all;
}

// Returns the index of the transport that reaches the address, preferring one within the host; transports.size() if
// none reaches it.
std::size_t find_route(const Addr& addr, std::span<Transport* const> transports) noexcept {
    const AddrBody& body = addr.body();
    std::size_t found = transports.size();
    for (std::size_t i = 0; i < transports.size(); ++i) {
        const Transport& transport = *transports[i];
        const bool reached = body.endpoints.empty()
                                 ? body.session_scheme.empty() || body.session_scheme == transport.scheme()
                                 : std::any_of(body.endpoints.begin(), body.endpoints.end(),
                                               [&](const std::string& e) { return transport.reaches(e); });
        if (!reached || (found < i && !transport.caps().same_host_only)) continue;
        found = i;
        if (transport.caps().same_host_only) break;
    }
    return found;
}

}  // namespace

std::uint64_t new_routes() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Context::Impl::Impl(std::span<Transport* const> transports, const ContextOptions& options, Receiver& receiver,
                    TimeSource& clock)
    : options_(options),
      receiver_(receiver),
      clock_(clock),
      virtual_clock_(&clock != &steady_clock()),
      ordinal_(ordinals().take()),
      routes_(options.routes != 0 ? options.routes : new_routes()),
      transports_(transports.begin(), transports.end()),
      wheel_(clock.now_us()),
      now_(clock.now_us()),
      peer_shortcuts_(ordinal_),
      completions_(options.threads) {}

void Context::Impl::close() noexcept {
    if (closed_) return;
    own();
    closed_ = true;
    completions_.publish_at_once();
    for (const auto& port : ports_) port->close();  // completes what is posted
    while (!retries_.empty() || !submitted_.empty()) (void)run_submitted();
    if (options_.threads == ThreadUse::many) ownership_.unlock();
}

Context::Impl::~Impl() {
    close();
    CINNABAR_ASSERT(ops_posted_ == 0);
    ports_.clear();  // peers are destroyed here, and the receiver is told while the ordinal is still this context's
    ordinals().give(ordinal_);
}

bool PortHost::watch(int fd, std::uint32_t epoll_events, FdEvents& ready) noexcept {
    return control(epoll_fd(), EPOLL_CTL_ADD, fd, epoll_events, ready);
}

bool PortHost::watch_again(int fd, std::uint32_t epoll_events, FdEvents& ready) noexcept {
    return control(epoll_fd(), EPOLL_CTL_MOD, fd, epoll_events, ready);
}

void PortHost::unwatch(int fd) noexcept { (void)::epoll_ctl(epoll_fd(), EPOLL_CTL_DEL, fd, nullptr); }

Result<void> Context::Impl::open() {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_ || !sleepers_.open(epoll_.get())) {
        return Error(errc_from_errno(errno), "opening a context's descriptors: raise the limit of open files", {},
                     errno);
    }
    for (Transport* transport : transports_) {
        auto port = transport->open_port(*this);
        if (!port) return std::move(port).error();
        ports_.push_back(*std::move(port));
    }
    return {};
}

Transport& Context::Impl::transport_of(const Port& port) const noexcept {
    std::size_t index = 0;
    while (ports_[index].get() != &port) ++index;
    return *transports_[index];
}

Context::Context(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)), ordinal_(impl_->ordinal_) {}
Context::~Context() = default;

Result<std::unique_ptr<Context>> Context::open(std::span<Transport* const> transports, const ContextOptions& options,
                                               Receiver& receiver) {
    if (transports.empty()) return Error(Errc::invalid_argument, "a context needs a transport");
    if (options.id == any_context) return Error(Errc::invalid_argument, "the id of a context must be below 65535");
    TimeSource* clock = transports.front()->clock();
    for (Transport* transport : transports) {
        if (transport->clock() != clock) {
            return Error(Errc::invalid_argument, "the transports of a context must share one clock");
        }
    }
    auto impl = std::make_unique<Impl>(transports, options, receiver, clock ? *clock : steady_clock());
    CINNABAR_TRY_VOID(impl->open());
    return std::unique_ptr<Context>(new Context(std::move(impl)));
}

// Transport::reaches may make system calls, so a route is found once per address, and cached there.
Port* Context::route(const Addr& addr) const noexcept {
    if (addr.empty()) return nullptr;
    std::atomic<std::uint64_t>& known = addr.body().routes[impl_->routes_ % AddrBody::shortcuts];
    const std::uint64_t route = known.load(std::memory_order_relaxed);
    if (route >> 8 == impl_->routes_) return impl_->ports_[route & 0xff].get();
    const std::size_t found = find_route(addr, impl_->transports_);
    if (found == impl_->ports_.size()) return nullptr;
    if (found <= 0xff) known.store(impl_->routes_ << 8 | found, std::memory_order_relaxed);
    return impl_->ports_[found].get();
}

// May be called with addresses that peers sent; turns bad_alloc into an error, so that callers need no handler.
Result<Peer*> Context::peer(const Addr& addr) try {
    if (addr.empty()) return Error(Errc::invalid_argument, "an empty address");
    if (Peer* known = known_peer(addr)) return known;
    if (Peer* known = impl_->peer_shortcuts_.find(addr)) return known;
    Port* port = route(addr);
    if (!port) return Error(Errc::unreachable, "no open transport reaches that address", addr.to_string());
    auto peer = port->peer(addr);
    if (peer && (*peer)->references() == 0) {
        // The caller may drop the peer without ever referencing it: this tells the port that it is not referenced.
        (*peer)->acquire();
        (*peer)->release();
    }
    if (peer) impl_->peer_shortcuts_.add(addr, **peer);
    return peer;
} catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory);
}

std::span<const std::unique_ptr<Port>> Context::ports() const noexcept { return impl_->ports_; }

Transport& Context::transport_of(const Port& port) const noexcept { return impl_->transport_of(port); }
void Context::close() noexcept { impl_->close(); }
unsigned Context::progress(Microseconds timeout) noexcept { return impl_->progress(timeout); }
bool Context::has_completions() const noexcept { return impl_->completions_.count() != 0; }
std::uint32_t Context::completions() const noexcept { return impl_->completions_.count(); }
int Context::wait_fd() const noexcept { return impl_->epoll_.get(); }
bool Context::prepare_wait() noexcept { return impl_->prepare_foreign_wait(); }
void Context::wake() noexcept { impl_->sleepers_.ring(); }  // also wakes a thread that is about to sleep
void Context::arm(WheelTimer& timer, TimeUs when) noexcept { impl_->wheel_.arm(timer, when); }
void Context::disarm(WheelTimer& timer) noexcept { impl_->wheel_.disarm(timer); }
TimeUs Context::now_us() const noexcept { return impl_->now_; }
TimeUs Context::fresh_now_us() noexcept { return impl_->refresh_now(); }
// In a `one` context the caller always owns it, so the stored time may be as old as the last reading of the clock.
TimeUs Context::present_us() noexcept {
    return impl_->options_.threads == ThreadUse::one ? impl_->refresh_now() : impl_->now_;
}
TimeUs Context::next_timer_us() const noexcept { return impl_->wheel_.next(); }
TimeSource& Context::clock() const noexcept { return impl_->clock_; }
const ContextOptions& Context::options() const noexcept { return impl_->options_; }
std::uint32_t Context::ops_posted() const noexcept { return impl_->ops_posted_; }
std::uint32_t Context::waiting() const noexcept { return impl_->ownership_.waiters(); }
Context::Wakeups Context::wakeups() const noexcept { return {impl_->sleepers_.sleeps(), impl_->sleepers_.rings()}; }

}  // namespace cinnabar::na
