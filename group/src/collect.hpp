// SPDX-License-Identifier: BSD-3-Clause
// A call of many members: the part of it that one process carries out.
#pragma once

#include "core.hpp"
#include "portion_state.hpp"
#include "tree.hpp"

#include <mutex>
#include <vector>

namespace cinnabar::group {

// One member's, or the caller's, part of a call. Lives until all its deliveries have ended.
class TreeRun {
  public:
    // `portion`: what the call moves; null if it moves nothing.
    TreeRun(std::shared_ptr<Core> core, std::shared_ptr<const TreeRequest> request, detail::Combine combine,
            std::shared_ptr<PortionState> portion)
        : core_(std::move(core)),
          request_(std::move(request)),
          combine_(std::move(combine)),
          portion_(std::move(portion)) {}

    // Calls those below, and runs the own handler if `local`.
    [[nodiscard]] hl::Task<TreeAnswer> run(std::vector<Rank> below, bool local);

  private:
    enum class Next : std::uint8_t { again, adopt, over };
    [[nodiscard]] hl::Task<void> deliver(Branch branch, Offers::Kept offer);
    // One for each branch of those that have to be cared for.
    [[nodiscard]] std::vector<hl::Task<void>> deliveries_to(const std::vector<Rank>& ranks);
    [[nodiscard]] hl::Task<Result<TreeAnswer>> call(const TreeRequest& request, const Core::Route& route,
                                                    const Offers::Kept& offer, std::size_t below);
    [[nodiscard]] hl::Task<void> run_handler();
    [[nodiscard]] hl::Task<detail::LocalOutcome> run_served(const detail::ServedRpc& served);
    // What the own handler is given; null: a scatter that has nothing for this member.
    [[nodiscard]] const detail::Encoded* own_input() const noexcept;
    // Of `branch` stays who has to be cared for next.
    [[nodiscard]] Next weigh(Branch& branch, const Result<TreeAnswer>& answer, const Core::Route& route,
                             TreeRequest& request, unsigned attempt, bool stopped);
    [[nodiscard]] Next weigh_failure(const Branch& branch, Errc code, const Core::Route& route, unsigned attempt,
                                     bool stopped);
    // This member leaves the group, so that others care for those below it.
    [[nodiscard]] bool leaves() const { return request_->id.origin != core_->process && core_->closed(); }
    void take(Branch& branch, const TreeAnswer& answer);
    // Counts members whose results are together in `output`.
    [[nodiscard]] Errc add_combined(const std::vector<std::byte>& output, std::uint64_t count);
    void fail(Rank rank, Errc code);
    void fail_all(const Branch& branch, Errc code);
    void leave_to_caller(const std::vector<Rank>& ranks);
    void tell_canceled(const na::Addr& child) const;
    [[nodiscard]] Shape shape() const noexcept { return {request_->tree, request_->fanout}; }

    std::shared_ptr<Core> core_;
    std::shared_ptr<const TreeRequest> request_;
    detail::Combine combine_;
    std::shared_ptr<PortionState> portion_;
    std::mutex mutex_;
    TreeAnswer sum_;
};

[[nodiscard]] hl::Task<Result<TreeAnswer>> answer_call(std::shared_ptr<Core> core, hl::Request<TreeRequest> request);

}  // namespace cinnabar::group
