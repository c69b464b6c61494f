// SPDX-License-Identifier: BSD-3-Clause
// A transfer that NIXL prepares once and posts any number of times, one after the other.
#pragma once

#include "memory.hpp"

#include <cinnabar/hl/node.hpp>

#include <backend_engine.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::nixl {

// Sends a notification to another agent. The names of both are arguments, since NIXL identifies agents by name.
inline constexpr hl::Rpc<void(std::string agent, std::string message)> notify{"cinnabar.nixl.notify"};

class Transfer final : public nixlBackendReqH {
  public:
    // Prepares a transfer. Descriptors i of both lists must have the same size. If all descriptors are blocks of one
    // size, in one local and one remote memory (the most common case), each post names the blocks by their numbers
    // (TransferPlan). invalid_argument: the lists do not match, or a descriptor lies outside of its memory.
    [[nodiscard]] static Result<std::unique_ptr<Transfer>> make(const hl::NodeRef& node, const std::string& agent,
                                                                nixl_xfer_op_t op, const nixl_meta_dlist_t& local,
                                                                const nixl_meta_dlist_t& remote);
    ~Transfer() override;

    struct Notification {
        na::Addr to;
        std::string message;
    };
    // Starts the transfer. If there is a notification, the transfer ends when the other agent has received it.
    // NIXL_IN_PROG: it was started. NIXL_ERR_REPOST_ACTIVE: the last post has not ended. NIXL_ERR_NOT_ALLOWED: local
    // memory was deregistered. NIXL_ERR_BACKEND: out of memory.
    [[nodiscard]] nixl_status_t post(Microseconds deadline, std::optional<Notification> notification);
    [[nodiscard]] nixl_status_t status() const noexcept { return state_->status.load(std::memory_order_acquire); }
    // Asks the present post to end early. False: it was already asked.
    bool cancel() noexcept { return state_->stop.request_stop(); }
    // Blocks until the present post has ended.
    void wait() const noexcept { state_->status.wait(NIXL_IN_PROG, std::memory_order_acquire); }

  private:
    // Outlives the Transfer if that is destroyed while in progress.
    struct State {
        State(const hl::NodeRef& of, const std::string& name) : node(of), agent(name) {}
        hl::NodeRef node;
        const std::string agent;  // this one
        std::atomic<nixl_status_t> status{NIXL_ERR_NOT_POSTED};
        std::stop_source stop;
        std::stop_token token;
        std::chrono::steady_clock::time_point ends_at;
        std::optional<Notification> notification;
        std::vector<std::shared_ptr<Registered>> local;  // each once
    };
    // Ends a post when it is called with the outcome. If memory runs out while the calls of the post are sent, the
    // Ending is never called; then its destructor ends the post, when the last of those calls has ended.
    class Ending {
      public:
        explicit Ending(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
        Ending(Ending&&) noexcept = default;
        Ending& operator=(Ending&&) = delete;
        ~Ending();
        void operator()(const Result<std::uint64_t>& outcome) noexcept;

      private:
        std::shared_ptr<State> state_;
    };
    Transfer(const hl::NodeRef& node, const std::string& agent, nixl_xfer_op_t op)
        : op_(op), state_(std::make_shared<State>(node, agent)) {}

    // invalid_argument: as make().
    [[nodiscard]] Errc check(const nixlMetaDesc& local, const nixlMetaDesc& remote);
    // False: the descriptors are not blocks of one piece of memory on each side.
    [[nodiscard]] bool make_plan(const nixl_meta_dlist_t& local, const nixl_meta_dlist_t& remote);
    void make_list(const nixl_meta_dlist_t& local, const nixl_meta_dlist_t& remote);
    [[nodiscard]] hl::RemoteMany operation(const hl::RemoteOptions& options) const;
    // Counts the post as a user of its local memory. False: some of that was deregistered, and nothing is counted.
    [[nodiscard]] bool begin_use() noexcept;
    static void end_use(State& state) noexcept;
    // `why`: for the log.
    static void end(State& state, Errc code, const char* why) noexcept;
    static void fail(State& state, const Error& error) noexcept;
    static void moved(const std::shared_ptr<State>& state, const Result<std::uint64_t>& outcome) noexcept;
    static void tell(const std::shared_ptr<State>& state);

    const nixl_xfer_op_t op_;
    const std::shared_ptr<State> state_;
    // Either a plan and the numbers of the blocks, or the parts.
    std::optional<hl::TransferPlan> plan_;
    std::vector<std::uint32_t> blocks_there_;
    std::vector<std::uint32_t> blocks_here_;
    std::vector<hl::RemoteRead> reads_;
    std::vector<hl::RemoteWrite> writes_;
    std::vector<hl::RemotePart> far_;  // parts with local memory of a file or a device; either direction
};

}  // namespace cinnabar::nixl
