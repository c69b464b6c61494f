// SPDX-License-Identifier: BSD-3-Clause
// TreeRun: one process's part of a collective call: it runs the handler, calls the members below it in the tree,
// combines their answers with the handler's, and takes over the subtree of a member that dies.
#pragma once

#include "core.hpp"
#include "portion_state.hpp"
#include "tree.hpp"

#include <mutex>
#include <optional>
#include <vector>

namespace cinnabar::group {

// The part of one member, or of the caller. Lives until all its deliveries have ended.
class TreeRun {
  public:
    // `portion`: the memory that the call moves; null: the call moves none. `caller` makes the calls to the members
    // below. `source`: the process that delivered the call. `gone`: the code for a member that no longer takes part in
    // the group and ran nothing.
    TreeRun(std::shared_ptr<Core> core, std::shared_ptr<const TreeRequest> request, detail::Combine combine,
            std::shared_ptr<PortionState> portion, hl::Caller caller, na::Addr source = {}, Errc gone = Errc::peer_lost)
        : core_(std::move(core)),
          request_(std::move(request)),
          combine_(std::move(combine)),
          portion_(std::move(portion)),
          caller_(std::move(caller)),
          source_(std::move(source)),
          gone_(gone) {}

    // Calls the members below in a tree and each of `near` by itself, and runs this process's own handler if `local`.
    [[nodiscard]] hl::Task<TreeAnswer> run(std::vector<Rank> below, bool local, std::vector<Rank> near);

  private:
    // The branches that still have to be served once a call has ended. Unset: the same member is called again.
    using Open = std::optional<std::vector<Branch>>;
    [[nodiscard]] hl::Task<void> deliver(Branch branch, Offers::Kept offer);
    // One delivery for each branch, or none if they are left to the caller.
    [[nodiscard]] std::vector<hl::Task<void>> deliveries_to(std::vector<Branch> branches);
    [[nodiscard]] hl::Task<Result<TreeAnswer>> call(const TreeRequest& request, const Core::Route& route,
                                                    const Offers::Kept& offer, std::size_t below);
    // If the call waits for lost members, and only connecting took too long, turns `timed_out` into `unreachable`.
    [[nodiscard]] Result<TreeAnswer> told_apart(Result<TreeAnswer> answer, TimeUs end) const;
    // Whether the call waits for members that are lost only for a moment (BulkOptions::come_back).
    [[nodiscard]] bool waits_for_lost() const noexcept {
        return request_->terms.come_back_ms != 0 && request_->mode == detail::Mode::count;
    }
    // Whether a member that this process cannot call now may be lost only for a moment.
    [[nodiscard]] bool may_come_back(Rank rank) const;
    // Whether a call that failed with `code` may have lost its member only for a moment.
    [[nodiscard]] bool may_come_back(Errc code, const Core::Route& route, bool stopped) const noexcept;
    // Calls a lost member again until it answers, or until its time is over. The call is for that member alone: this
    // process calls the members below it.
    [[nodiscard]] hl::Task<void> await_return(Branch branch, TreeRequest request, Offers::Kept offer);
    // Counts the called member of a branch, and none of those below it.
    void take_alone(const Branch& branch, const TreeAnswer& answer);
    [[nodiscard]] hl::Task<void> run_handler(Microseconds span);
    // Whether the handler runs after the members below have answered.
    [[nodiscard]] bool runs_after_below() const;
    [[nodiscard]] hl::Task<void> run_after(std::shared_ptr<Signal> below_ended, Microseconds span);
    // The time for this process's own handler if it has `left` for the call and calls `below` members.
    [[nodiscard]] Microseconds for_handler(Microseconds left, std::size_t below) const;
    // The number of levels of the tree that share the reserve for returning answers.
    [[nodiscard]] std::size_t levels(std::size_t below) const noexcept {
        return request_->tree == Tree::chain ? below + 1 : 1;
    }
    [[nodiscard]] hl::Task<detail::LocalOutcome> run_served(const detail::ServedRpc& served);
    // The arguments for this process's own handler; null: a scatter that has nothing for this member.
    [[nodiscard]] const detail::Encoded* own_input() const noexcept;
    // Decides how to continue after an answer.
    [[nodiscard]] Open weigh(const Branch& branch, const Result<TreeAnswer>& answer, const Core::Route& route,
                             TreeRequest& request, unsigned attempt, bool stopped);
    [[nodiscard]] std::vector<Branch> weigh_failure(const Branch& branch, const Error& error, const Core::Route& route,
                                                    bool stopped);
    // The branches below a child that has failed.
    [[nodiscard]] std::vector<Branch> without_child(const Branch& branch, Errc code, std::string text = {});
    // Whether this member is leaving the group, so that others must call the members below it.
    [[nodiscard]] bool leaves() const { return request_->id.origin != core_->process && core_->closed(); }
    // Returns the branches that the child has left to this process.
    [[nodiscard]] std::vector<Branch> take(const Branch& branch, const TreeAnswer& answer);
    // Adds `output`, the combined results of `count` members.
    [[nodiscard]] Errc add_combined(const std::vector<std::byte>& output, std::uint64_t count);
    void fail(Rank rank, Errc code, std::string text = {});
    // The text is about the child alone.
    void fail_all(const Branch& branch, Errc code, std::string text = {});
    void leave_to_caller(const std::vector<Branch>& branches);
    void tell_canceled(const na::Addr& child) const;
    [[nodiscard]] Shape shape() const noexcept { return {request_->tree, request_->fanout}; }

    std::shared_ptr<Core> core_;
    std::shared_ptr<const TreeRequest> request_;
    detail::Combine combine_;
    std::shared_ptr<PortionState> portion_;
    hl::Caller caller_;
    na::Addr source_;  // who delivered the call; empty at the caller
    Errc gone_;
    std::mutex mutex_;
    TreeAnswer sum_;
};

// As detail::collect(), for the members of the view `as_of`: a rank that was given to another process since that view
// is a failure. Unset: the view at the moment when the call begins.
[[nodiscard]] hl::Task<Result<detail::Collected>> collect_as_of(std::shared_ptr<Core> core, detail::CollectiveCall call,
                                                                std::optional<View> as_of);

[[nodiscard]] hl::Task<Result<TreeAnswer>> answer_call(std::shared_ptr<Core> core, hl::Request<TreeRequest> request);

}  // namespace cinnabar::group
