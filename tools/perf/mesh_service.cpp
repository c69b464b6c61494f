// SPDX-License-Identifier: BSD-3-Clause
#include "perf/mesh_service.hpp"

#include "perf/mesh_bulk_load.hpp"
#include "perf/mesh_load.hpp"

#include <cinnabar/hl/request.hpp>
#include <cinnabar/hl/serve.hpp>
#include <cinnabar/hl/task.hpp>

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace cinnabar::tools::perf {
namespace {

// A load on a thread of its own, and the coroutine that waits for it. Requires: nobody waits when it is destroyed.
template <typename In, typename Out>
class LoadThread {
  public:
    // overloaded: no thread.
    Result<void> start(In in, const na::TlsOptions& tls) {
        try {
            thread_ = std::jthread([this, in = std::move(in), tls] { run(in, tls); });
        } catch (const std::system_error&) {
            return Error{Errc::overloaded, "there is no thread left for it"};
        }
        return {};
    }
    // Any thread.
    void stop() noexcept { (void)stop_.request_stop(); }

    struct Ended {
        LoadThread& load;
        hl::Job job = {};
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <std::derived_from<hl::PromiseBase> Promise>
        bool await_suspend(std::coroutine_handle<Promise> handle) noexcept {
            job.resumes(handle);
            return load.resume_at_end(*hl::executor_of(hl::context_of(handle)), job);
        }
        void await_resume() const noexcept {}
    };
    // Awaited in a task with an executor.
    [[nodiscard]] Ended ended() noexcept { return {*this}; }
    // Requires: ended. Waits for the last steps of the thread, which may still be in post().
    [[nodiscard]] Result<Out> take() {
        thread_.join();
        return *std::move(outcome_);
    }

  private:
    void run(const In& in, const na::TlsOptions& tls) noexcept {
        try {
            outcome_.emplace(run_load(in, tls, stop_.get_token()));
        } catch (const std::exception&) {
            outcome_.emplace(Error{Errc::out_of_memory, "there is no memory for the load"});
        }
        const std::lock_guard lock(mutex_);
        ended_ = true;
        if (waiting_) executor_->post(*waiting_);
    }
    // False: it has ended already.
    bool resume_at_end(hl::Executor& executor, hl::Job& job) noexcept {
        const std::lock_guard lock(mutex_);
        if (ended_) return false;
        executor_ = &executor;
        waiting_ = &job;
        return true;
    }

    std::stop_source stop_;
    std::optional<Result<Out>> outcome_;
    std::mutex mutex_;
    bool ended_ = false;
    hl::Executor* executor_ = nullptr;
    hl::Job* waiting_ = nullptr;
    std::jthread thread_;  // the last member, so that it ends first
};

struct LoadSlot {
    explicit LoadSlot(LoadOptions wanted) : options(std::move(wanted)) {}
    const LoadOptions options;
    std::atomic<bool> taken{false};
};

// The only slot for a load, while this object lives.
class HeldSlot {
  public:
    explicit HeldSlot(LoadSlot& slot) noexcept : slot_(slot), held_(!slot.taken.exchange(true)) {}
    ~HeldSlot() {
        if (held_) slot_.taken.store(false);
    }
    HeldSlot(const HeldSlot&) = delete;
    HeldSlot& operator=(const HeldSlot&) = delete;
    [[nodiscard]] bool held() const noexcept { return held_; }

  private:
    LoadSlot& slot_;
    const bool held_;
};

template <typename In, typename Out>
hl::Task<Result<Out>> load_for(std::shared_ptr<LoadSlot> slot, hl::Request<In> request) {
    if (!slot->options.allowed) co_return Error{Errc::permission, "start the server with --mesh"};
    CINNABAR_CO_TRY_VOID(check_load(*request));
    const HeldSlot held(*slot);
    if (!held.held()) co_return Error{Errc::busy, "the server runs another load; wait for its end"};
    LoadThread<In, Out> load;
    // Also when the connection is lost, or the node closes.
    const std::stop_callback on_stop(request.stop_token(), [&load]() noexcept { load.stop(); });
    CINNABAR_CO_TRY_VOID(load.start(std::move(*request), slot->options.tls));
    auto ended = load.ended();
    co_await ended;
    co_return load.take();
}

}  // namespace

Result<void> serve_loads(const hl::NodeRef& node, const LoadOptions& options) {
    auto slot = std::make_shared<LoadSlot>(options);
    CINNABAR_TRY_VOID(node.serve(
        load_rpc, [slot](hl::Request<LoadIn> request) { return load_for<LoadIn, LoadOut>(slot, std::move(request)); }));
    return node.serve(bulk_load_rpc, [slot](hl::Request<BulkLoadIn> request) {
        return load_for<BulkLoadIn, BulkLoadOut>(slot, std::move(request));
    });
}

}  // namespace cinnabar::tools::perf
