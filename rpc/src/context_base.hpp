// SPDX-License-Identifier: BSD-3-Clause
// What every part of a context uses: the network, the options, and how work runs as the owner of the context.
// ContextBase knows none of the parts, so a part sees only those other parts that its constructor names. Owner of the
// context only (na/context.hpp), unless a function says "any thread".
#pragma once

#include <cinnabar/rpc/context.hpp>
#include <cinnabar/rpc/engine.hpp>
#include <cinnabar/rpc/options.hpp>

#include <cstdint>
#include <memory>
#include <mutex>

namespace cinnabar::rpc {

class ContextCore;

class ContextBase {
  public:
    ContextBase(const ContextBase&) = delete;
    ContextBase& operator=(const ContextBase&) = delete;

    // Any thread: calls `function` as the owner of the context.
    template <typename F>
    void owned(F&& function) noexcept {
        if (closed_) {
            const std::lock_guard lock(after_close());
            return function();
        }
        const na::Context::Ownership ownership(*na);
        function();
    }
    // A closed context has no owner: threads that still release requests use this lock instead. The lock outlives the
    // core, which may be destroyed while a thread holds the lock.
    [[nodiscard]] static std::recursive_mutex& after_close() noexcept;
    // Runs `work` as the owner, at once if possible; after close(), in this call. Any thread.
    void run_owned(WorkItem& work) noexcept {
        if (closed_) [[unlikely]]
            return run_closed(work);
        na->run_owned(work);
    }
    [[gnu::noinline]] static void run_closed(WorkItem& work) noexcept {
        const std::lock_guard lock(after_close());
        work.run(work);
    }
    // As run_owned(), for threads that drive another context: only queues `work`, but after close() runs `work` in this
    // call.
    void hand_over(WorkItem& work) noexcept {
        if (closed_) return run_closed(work);
        na->submit(work);
    }
    // Runs all completions that are queued, and those that they queue. Takes no ownership.
    void deliver_all() noexcept;
    [[nodiscard]] const std::shared_ptr<na::Transport>& transport_of(const na::Port& port) const noexcept;
    // Frees a closed core when nothing is left that outlives close() (ContextCore::held).
    void go_if_over() noexcept {
        if (closed_) go_if_unheld();
    }

    Engine& engine;
    Context* facade = nullptr;
    const Options options;
    // Flags of every frame.
    const std::uint16_t frame_flags;
    std::unique_ptr<na::Context> na;
    na::Port* only_port = nullptr;  // null if there are several ports
    std::unique_ptr<bulk::Mover> mover;
    // This many slots of calls, and of requests, retain their message for the next use; all retain their address.
    const std::uint32_t messages_retained;
    bool closing_ = false;                    // no new calls
    bool closed_ = false;                     // the ports are closed
    std::shared_ptr<ContextCore> keep_alive;  // set while a closed core is held

  protected:
    ContextBase(Engine& owner, const Options& wanted);
    ~ContextBase() = default;

  private:
    [[gnu::noinline]] void go_if_unheld() noexcept;
};

}  // namespace cinnabar::rpc
