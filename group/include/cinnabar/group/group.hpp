// SPDX-License-Identifier: BSD-3-Clause
// Group: processes that know each other by rank, notice when one of them dies, and can all be called at once.
//
//     Group group = (co_await Group::join(node, "tcp://10.0.0.1:4000", options)).value();
//     group.serve(store, [](const Item& item) { ... });
//     Reached reached = (co_await group.broadcast(store, item)).value();
//     Reached loaded = (co_await group.broadcast_bulk(load, step, weights)).value();
//
// Through a Group, this process is a member, or follows the group as a client. A Group is a cheap handle. When its last
// copy is destroyed, this process drops out without telling the others, which then have to detect that this process is
// gone; call leave() first to tell them. Thread-safe. Must be destroyed before its node.
// Peers are not authenticated: docs/groups.md says what a lying peer can do.
#pragma once

#include <cinnabar/group/erased.hpp>
#include <cinnabar/group/events.hpp>
#include <cinnabar/group/group_options.hpp>
#include <cinnabar/group/served.hpp>
#include <cinnabar/group/typed_calls.hpp>
#include <cinnabar/group/view.hpp>
#include <cinnabar/hl/node.hpp>

#include <map>
#include <span>
#include <string>

namespace cinnabar::group {

class CINNABAR_API Group {
  public:
    // Creates the group; this process is its first member, with rank 0. invalid_argument: the node does not listen.
    // exists: the node already has a group under GroupOptions::provider.
    [[nodiscard]] static Result<Group> create(hl::NodeRef node, GroupOptions options = {});
    // Joins an existing group. Asks the seeds in turn until one answers, for GroupOptions::join_time in all. Errors as
    // for create(), then those of the last attempt: not_found (the seed belongs to another group), too_large (no rank
    // is free), and those of calls.
    [[nodiscard]] static hl::Task<Result<Group>> join(hl::NodeRef node, std::vector<std::string> seeds,
                                                      GroupOptions options = {});
    // Becomes a member of a group whose ranks are known beforehand. Starts at once, alone, and looks for the others;
    // see wait_for_members(). A process that is restarted under its rank takes the next incarnation. not_found:
    // Roster::self is no_rank, and the node's address is not in the roster.
    [[nodiscard]] static Result<Group> start(hl::NodeRef node, Roster roster, GroupOptions options = {});
    // Follows a group as a client: can call its members and see its view, but is not a member.
    [[nodiscard]] static hl::Task<Result<Group>> follow(hl::NodeRef node, std::vector<std::string> seeds,
                                                        GroupOptions options = {});

    // --- members
    [[nodiscard]] Rank rank() const;  // no_rank for a client
    [[nodiscard]] View view() const;
    [[nodiscard]] Events events() const;
    // Returns when at least that many members are present. timed_out, canceled: the task timed out or was canceled;
    // closed.
    [[nodiscard]] hl::Task<Result<void>> wait_for_members(std::size_t count) const;
    // 0: this process is healthy. Larger, up to SwimOptions::health_max: it is slow, and waits longer for others.
    [[nodiscard]] unsigned slowness() const;
    void leave() const;
    // Excludes a member that answers pings, but whose program hangs. The member is told, and its part in the group ends
    // as if it had left; the others exclude the member when it no longer answers (SwimOptions::suspicion_min). All
    // members need SwimOptions::rejoin = false, or the excluded member would come back. unsupported: `rejoin` is true
    // here, or this process is a client. not_found: no member has this rank now. invalid_argument: `rank` is this
    // process. closed.
    [[nodiscard]] Result<void> exclude(Rank rank) const;
    // The group's hybrid logical clock. Messages of other members advance the clock, so times taken in a handler are
    // later than those that its caller took before the call. Valid as long as this Group or a copy of it exists.
    [[nodiscard]] HybridClock& clock() const;

    // --- serving. At most one handler for each Rpc; exists: the Rpc has one already. The group owns the handler, so a
    // handler must not own a copy of its Group, but may refer to one. `combine` is for reduce(): it combines the
    // answers of the members below this one in the tree.
    template <typename R, typename F>
    Result<void> serve(const R& rpc, F handler) const {
        return add(detail::served_by(rpc, std::move(handler)));
    }
    template <typename R, typename F, typename C>
    Result<void> serve(const R& rpc, F handler, C combine) const {
        detail::ServedRpc served = detail::served_by(rpc, std::move(handler));
        served.combine = detail::combine_by<typename R::Output>(std::move(combine));
        return add(std::move(served));
    }

    // For bulk calls: the handler takes a Portion after the arguments and moves its bytes.
    template <typename R, typename F>
    Result<void> serve_bulk(const R& rpc, F handler) const {
        return add(detail::served_bulk_by(rpc, std::move(handler)));
    }

    // --- calls. A call that could not start returns an error (closed, too_large, ...); failures of single members are
    // part of the answer. Each handler runs at most once per call. If an inner member of the tree dies, its parent
    // calls the members below the dead one, within the same call.

    // `in` holds the arguments: one value, a tuple of several (`{1, 2}`), or nothing for an Rpc without arguments.

    // Calls one member. peer_lost: the process of that rank is no longer a member, or was found dead during the call.
    // not_found: no member with that rank is known.
    template <typename Out, typename... In>
    requires(sizeof...(In) > 0) [[nodiscard]] hl::Task<Result<Out>> call(const hl::Rpc<Out(In...)>& rpc, Rank rank,
                                                                         const typename hl::Rpc<Out(In...)>::Input& in,
                                                                         const CollectiveOptions& options = {}) const {
        return detail::one_result<Out>(
            detail::collect(core_, detail::to_one(rank, detail::encoded_call(rpc, detail::Mode::gather, options, in))));
    }
    template <typename Out>
    [[nodiscard]] hl::Task<Result<Out>> call(const hl::Rpc<Out()>& rpc, Rank rank,
                                             const CollectiveOptions& options = {}) const {
        return detail::one_result<Out>(detail::collect(
            core_, detail::to_one(rank, detail::encoded_call(rpc, detail::Mode::gather, options, rpc::Empty{}))));
    }
    // Calls all members and drops their results.
    template <typename Out, typename... In>
    requires(sizeof...(In) > 0)
        [[nodiscard]] hl::Task<Result<Reached>> broadcast(const hl::Rpc<Out(In...)>& rpc,
                                                          const typename hl::Rpc<Out(In...)>::Input& in,
                                                          const CollectiveOptions& options = {}) const {
        return detail::reached(detail::collect(core_, detail::encoded_call(rpc, detail::Mode::count, options, in)));
    }
    template <typename Out>
    [[nodiscard]] hl::Task<Result<Reached>> broadcast(const hl::Rpc<Out()>& rpc,
                                                      const CollectiveOptions& options = {}) const {
        return detail::reached(
            detail::collect(core_, detail::encoded_call(rpc, detail::Mode::count, options, rpc::Empty{})));
    }
    // Returns all results by rank. Together they must fit one answer (rpc::Options::argument_bytes_max).
    template <typename Out, typename... In>
    requires(sizeof...(In) > 0)
        [[nodiscard]] hl::Task<Result<Gathered<Out>>> gather(const hl::Rpc<Out(In...)>& rpc,
                                                             const typename hl::Rpc<Out(In...)>::Input& in,
                                                             const CollectiveOptions& options = {}) const {
        return detail::gathered<Out>(
            detail::collect(core_, detail::encoded_call(rpc, detail::Mode::gather, options, in)));
    }
    template <typename Out>
    [[nodiscard]] hl::Task<Result<Gathered<Out>>> gather(const hl::Rpc<Out()>& rpc,
                                                         const CollectiveOptions& options = {}) const {
        return detail::gathered<Out>(
            detail::collect(core_, detail::encoded_call(rpc, detail::Mode::gather, options, rpc::Empty{})));
    }
    // Gives each of these members an argument of its own. `tree`, `only` and `except` are ignored.
    template <typename Out, typename... In>
    requires(sizeof...(In) > 0 && !std::is_void_v<Out>) [[nodiscard]] hl::Task<Result<Gathered<Out>>> scatter(
        const hl::Rpc<Out(In...)>& rpc, const std::map<Rank, typename hl::Rpc<Out(In...)>::Input>& in,
        const CollectiveOptions& options = {}) const {
        return detail::gathered<Out>(
            detail::collect_each(core_, detail::encoded_calls(rpc, detail::Mode::gather, options, in)));
    }
    template <typename... In>
    requires(sizeof...(In) > 0)
        [[nodiscard]] hl::Task<Result<Reached>> scatter(const hl::Rpc<void(In...)>& rpc,
                                                        const std::map<Rank, typename hl::Rpc<void(In...)>::Input>& in,
                                                        const CollectiveOptions& options = {}) const {
        return detail::reached(
            detail::collect_each(core_, detail::encoded_calls(rpc, detail::Mode::count, options, in)));
    }
    // Combines all results. Each member combines with the combiner that its handler was served with, which must do the
    // same as `combine`.
    template <typename Out, typename... In, typename C>
    requires(sizeof...(In) > 0)
        [[nodiscard]] hl::Task<Result<Reduced<Out>>> reduce(const hl::Rpc<Out(In...)>& rpc,
                                                            const typename hl::Rpc<Out(In...)>::Input& in, C combine,
                                                            const CollectiveOptions& options = {}) const {
        return detail::reduced_by<Out>(core_, std::move(combine),
                                       detail::encoded_call(rpc, detail::Mode::reduce, options, in));
    }
    template <typename Out, typename C>
    [[nodiscard]] hl::Task<Result<Reduced<Out>>> reduce(const hl::Rpc<Out()>& rpc, C combine,
                                                        const CollectiveOptions& options = {}) const {
        return detail::reduced_by<Out>(core_, std::move(combine),
                                       detail::encoded_call(rpc, detail::Mode::reduce, options, rpc::Empty{}));
    }

    // --- bulk: moves bytes between memory of this process and memory that the members' handlers (serve_bulk) choose.
    // The memory of this process must live until the call has ended, and is not accessed after that. A client that
    // makes a bulk call also serves requests for chunks, under GroupOptions::provider; exists: another group of the
    // client's node uses that provider. invalid_argument: options out of bounds, or no region. permission: the region's
    // access does not allow the call.
    // A region may be a file or device memory; unsupported: it is one of these, and BulkOptions::checksum is set.

    // Sends the whole region to each member, down a tree or a chain, in chunks that members forward as soon as they
    // arrive. If a member dies, the members below it continue from the chunks that they have.
    template <typename R>
    [[nodiscard]] hl::Task<Result<Reached>> broadcast_bulk(const R& rpc, const typename R::Input& in,
                                                           bulk::Region region, const BulkOptions& options = {}) const {
        return detail::reached(detail::broadcast_bulk(
            core_, detail::encoded_call(rpc, detail::Mode::count, options.call, in), std::move(region), options));
    }
    // Sends each rank the region listed for it; `only` and `except` are ignored.
    template <typename R>
    [[nodiscard]] hl::Task<Result<Reached>> scatter_bulk(const R& rpc, const typename R::Input& in,
                                                         std::map<Rank, bulk::Region> regions,
                                                         const BulkOptions& options = {}) const {
        return detail::reached(detail::move_each(core_,
                                                 detail::encoded_call(rpc, detail::Mode::count, options.call, in),
                                                 std::move(regions), options, true));
    }
    // Fetches from each rank into the region listed for it.
    template <typename R>
    [[nodiscard]] hl::Task<Result<Reached>> gather_bulk(const R& rpc, const typename R::Input& in,
                                                        std::map<Rank, bulk::Region> regions,
                                                        const BulkOptions& options = {}) const {
        return detail::reached(detail::move_each(core_,
                                                 detail::encoded_call(rpc, detail::Mode::count, options.call, in),
                                                 std::move(regions), options, false));
    }

    // --- calls that every member makes itself, under the same name. Only one task of a process at a time may use a
    // name; a process may use at most 1,024 names, each any number of times. The member with the lowest rank leads; if
    // that member dies, the one with the next rank leads.

    // Returns when all members have arrived. Members that have not arrived after three quarters of the deadline are
    // listed as failures.
    [[nodiscard]] hl::Task<Result<Reached>> barrier(const std::string& name,
                                                    const CollectiveOptions& options = {}) const {
        return detail::reached(detail::all_reduce(core_, name, {}, detail::call_by_all({}, options)));
    }
    // Each member contributes a value, and gets the combination of all values.
    template <typename T, typename C>
    [[nodiscard]] hl::Task<Result<Reduced<T>>> all_reduce(const std::string& name, const T& value, C combine,
                                                          const CollectiveOptions& options = {}) const {
        detail::CollectiveCall call = detail::call_by_all(detail::combine_by<T>(std::move(combine)), options);
        detail::Encoded bytes;
        call.failed = detail::encode_into(bytes, value);
        return detail::reduced<T>(detail::all_reduce(core_, name, std::move(bytes), std::move(call)));
    }

    // Each member gives to every other member the region that `give` lists under that member's rank, and receives the
    // bytes that this other member gives into the region that `take` lists under the same rank. Receivers request the
    // bytes, from a few members at a time, so nobody is flooded. A member is counted when its bytes have arrived, and
    // is a failure if it did not take part, died, or has a region of another size (invalid_argument). The call ends
    // when the other members have received their bytes as well, or have evidently given up. unsupported: a region in
    // `take` is a file or device memory.
    [[nodiscard]] hl::Task<Result<Reached>> all_to_all(const std::string& name, std::map<Rank, bulk::Region> give,
                                                       std::map<Rank, bulk::Region> take,
                                                       const BulkOptions& options = {}) const {
        return detail::reached(detail::all_to_all(core_, name, std::move(give), std::move(take),
                                                  detail::call_by_all({}, options.call), options));
    }

  private:
    template <typename T>
    friend class Variable;
    friend class Announcement;
    struct Handle;
    explicit Group(std::shared_ptr<Core> core);
    Result<void> add(detail::ServedRpc served) const;

    std::shared_ptr<Core> core_;
    std::shared_ptr<Handle> handle_;
};

}  // namespace cinnabar::group
