// SPDX-License-Identifier: BSD-3-Clause
// Group: processes that know of each other, by rank, and notice when one of them dies; and calls of many of them.
//
//     Group group = (co_await Group::join(node, "tcp://10.0.0.1:4000", options)).value();
//     group.serve(store, [](const Item& item) { ... });
//     Reached reached = (co_await group.broadcast(store, item)).value();
//     Reached loaded = (co_await group.broadcast_bulk(load, step, weights)).value();
//
// A Group is a member, or follows one as a client. A cheap handle; the last one that goes ends this process's part
// without a word: call leave() first, so that the others need not find out. Thread-safe. Must be gone before its node.
// Peers are not authenticated: docs/groups.md says what one that lies can do.
#pragma once

#include <cinnabar/group/erased.hpp>
#include <cinnabar/group/events.hpp>
#include <cinnabar/group/group_options.hpp>
#include <cinnabar/group/served.hpp>
#include <cinnabar/group/view.hpp>
#include <cinnabar/hl/node.hpp>

#include <map>
#include <span>
#include <string>

namespace cinnabar::group {

class CINNABAR_API Group {
  public:
    // The first member, of rank 0. invalid_argument: the node does not listen. exists: the node has a group under that
    // provider.
    [[nodiscard]] static Result<Group> create(hl::NodeRef node, GroupOptions options = {});
    // A further member. One of the seeds has to answer; each is asked in turn, for GroupOptions::join_time in all.
    // Errors as of create(), then those of the last attempt: not_found (another group is there), too_large (no ranks
    // are left), and those of calls.
    [[nodiscard]] static hl::Task<Result<Group>> join(hl::NodeRef node, std::vector<std::string> seeds,
                                                      GroupOptions options = {});
    // A member of a group whose ranks are known beforehand. It begins at once, alone, and looks for the others; see
    // wait_for_members(). A process that is started again under its rank takes the next incarnation. not_found: the
    // node's address is not on the list, which says no rank.
    [[nodiscard]] static Result<Group> start(hl::NodeRef node, Roster roster, GroupOptions options = {});
    // Follows a group as a client: calls its members and sees its view, and is no member.
    [[nodiscard]] static hl::Task<Result<Group>> follow(hl::NodeRef node, std::vector<std::string> seeds,
                                                        GroupOptions options = {});

    // --- who is here
    [[nodiscard]] Rank rank() const;  // no_rank of a client
    [[nodiscard]] View view() const;
    [[nodiscard]] Events events() const;
    // Ends when so many members are present. timed_out, canceled: of the task; closed.
    [[nodiscard]] hl::Task<Result<void>> wait_for_members(std::size_t count) const;
    // 0: well. Up to SwimOptions::health_max: this process is slow, and waits longer for others.
    [[nodiscard]] unsigned slowness() const;
    void leave() const;

    // --- serving. At most one handler for each Rpc; exists: there is one. A handler must not hold its Group, which
    // holds it, but may refer to it. `combine` is for reduce(): what members below this one have
    // answered is combined here.
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

    // For bulk calls: the handler takes a Portion after the arguments, and moves its bytes.
    template <typename R, typename F>
    Result<void> serve_bulk(const R& rpc, F handler) const {
        return add(detail::served_bulk_by(rpc, std::move(handler)));
    }

    // --- calls. A call that could not begin has an error (closed, too_large, ...); what went wrong at single members
    // is in the answer. Each handler runs at most once for a call. In a subtree whose inner member dies, the others are
    // called by its parent, in the same call.

    // The argument; a tuple of several (`{1, 2}`); nothing for an Rpc that has none.

    // One member. peer_lost: it is no longer a member, or is found to be dead meanwhile. not_found: no such rank.
    template <typename Out, typename... In>
    requires(sizeof...(In) > 0) [[nodiscard]] hl::Task<Result<Out>> call(const hl::Rpc<Out(In...)>& rpc, Rank rank,
                                                                         const typename hl::Rpc<Out(In...)>::Input& in,
                                                                         const CollectiveOptions& options = {}) const {
        return one<Out>(detail::collect(core_, to_one(rank, made(rpc, detail::Mode::gather, options, in))));
    }
    template <typename Out>
    [[nodiscard]] hl::Task<Result<Out>> call(const hl::Rpc<Out()>& rpc, Rank rank,
                                             const CollectiveOptions& options = {}) const {
        return one<Out>(detail::collect(core_, to_one(rank, made(rpc, detail::Mode::gather, options, rpc::Empty{}))));
    }
    // Results are dropped.
    template <typename Out, typename... In>
    requires(sizeof...(In) > 0)
        [[nodiscard]] hl::Task<Result<Reached>> broadcast(const hl::Rpc<Out(In...)>& rpc,
                                                          const typename hl::Rpc<Out(In...)>::Input& in,
                                                          const CollectiveOptions& options = {}) const {
        return reached(detail::collect(core_, made(rpc, detail::Mode::count, options, in)));
    }
    template <typename Out>
    [[nodiscard]] hl::Task<Result<Reached>> broadcast(const hl::Rpc<Out()>& rpc,
                                                      const CollectiveOptions& options = {}) const {
        return reached(detail::collect(core_, made(rpc, detail::Mode::count, options, rpc::Empty{})));
    }
    // All results, by rank. Their bytes together must fit one answer (rpc::Options::argument_bytes_max).
    template <typename Out, typename... In>
    requires(sizeof...(In) > 0)
        [[nodiscard]] hl::Task<Result<Gathered<Out>>> gather(const hl::Rpc<Out(In...)>& rpc,
                                                             const typename hl::Rpc<Out(In...)>::Input& in,
                                                             const CollectiveOptions& options = {}) const {
        return gathered<Out>(detail::collect(core_, made(rpc, detail::Mode::gather, options, in)));
    }
    template <typename Out>
    [[nodiscard]] hl::Task<Result<Gathered<Out>>> gather(const hl::Rpc<Out()>& rpc,
                                                         const CollectiveOptions& options = {}) const {
        return gathered<Out>(detail::collect(core_, made(rpc, detail::Mode::gather, options, rpc::Empty{})));
    }
    // Each of these members gets an argument of its own, straight from the caller: trees do not count here, nor do
    // `only` and `except`.
    template <typename Out, typename... In>
    requires(sizeof...(In) > 0 && !std::is_void_v<Out>) [[nodiscard]] hl::Task<Result<Gathered<Out>>> scatter(
        const hl::Rpc<Out(In...)>& rpc, const std::map<Rank, typename hl::Rpc<Out(In...)>::Input>& in,
        const CollectiveOptions& options = {}) const {
        return gathered<Out>(detail::collect_each(core_, made_each(rpc, detail::Mode::gather, options, in)));
    }
    template <typename... In>
    requires(sizeof...(In) > 0)
        [[nodiscard]] hl::Task<Result<Reached>> scatter(const hl::Rpc<void(In...)>& rpc,
                                                        const std::map<Rank, typename hl::Rpc<void(In...)>::Input>& in,
                                                        const CollectiveOptions& options = {}) const {
        return reached(detail::collect_each(core_, made_each(rpc, detail::Mode::count, options, in)));
    }
    // All results combined; members combine by what they were served with, which must do the same.
    template <typename Out, typename... In, typename C>
    requires(sizeof...(In) > 0)
        [[nodiscard]] hl::Task<Result<Reduced<Out>>> reduce(const hl::Rpc<Out(In...)>& rpc,
                                                            const typename hl::Rpc<Out(In...)>::Input& in, C combine,
                                                            const CollectiveOptions& options = {}) const {
        return reduced_by<Out>(std::move(combine), made(rpc, detail::Mode::reduce, options, in));
    }
    template <typename Out, typename C>
    [[nodiscard]] hl::Task<Result<Reduced<Out>>> reduce(const hl::Rpc<Out()>& rpc, C combine,
                                                        const CollectiveOptions& options = {}) const {
        return reduced_by<Out>(std::move(combine), made(rpc, detail::Mode::reduce, options, rpc::Empty{}));
    }

    // --- bulk: memory of this process moves to members, or from them, as their handlers (serve_bulk) say. The memory
    // must live until the call has ended, and is not touched after that. A client has to serve for that, and does so
    // under its provider; exists: another group of its node has that provider. invalid_argument: options out of their
    // bounds, no region. permission: the region does not allow it. unsupported: it is a file, or the memory of a
    // device.

    // All of the region to each of them. It moves down a tree, or a chain, in chunks that move on as soon as they have
    // come. When a member dies, those below it go on from what they have.
    template <typename R>
    [[nodiscard]] hl::Task<Result<Reached>> broadcast_bulk(const R& rpc, const typename R::Input& in,
                                                           bulk::Region region, const BulkOptions& options = {}) const {
        return reached(detail::broadcast_bulk(core_, made(rpc, detail::Mode::count, options.call, in),
                                              std::move(region), options));
    }
    // To each rank the region that is named for it; `only` and `except` do not count.
    template <typename R>
    [[nodiscard]] hl::Task<Result<Reached>> scatter_bulk(const R& rpc, const typename R::Input& in,
                                                         std::map<Rank, bulk::Region> regions,
                                                         const BulkOptions& options = {}) const {
        return reached(detail::move_each(core_, made(rpc, detail::Mode::count, options.call, in), std::move(regions),
                                         options, true));
    }
    // From each rank into the region that is named for it.
    template <typename R>
    [[nodiscard]] hl::Task<Result<Reached>> gather_bulk(const R& rpc, const typename R::Input& in,
                                                        std::map<Rank, bulk::Region> regions,
                                                        const BulkOptions& options = {}) const {
        return reached(detail::move_each(core_, made(rpc, detail::Mode::count, options.call, in), std::move(regions),
                                         options, false));
    }

    // --- what all members call, each for itself, under one name. Only one task of a process at a time under a name;
    // a process may use 1,024 names, as often as it likes. The lowest member leads; when it dies, the next one does.

    // Ends when all members have come. Those that did not, in three quarters of the time, are failures.
    [[nodiscard]] hl::Task<Result<Reached>> barrier(const std::string& name,
                                                    const CollectiveOptions& options = {}) const {
        return reached(detail::all_reduce(core_, name, {}, all_call({}, options)));
    }
    // Each gives a value, and gets the combination of all.
    template <typename T, typename C>
    [[nodiscard]] hl::Task<Result<Reduced<T>>> all_reduce(const std::string& name, const T& value, C combine,
                                                          const CollectiveOptions& options = {}) const {
        detail::CollectiveCall call = all_call(detail::combine_by<T>(std::move(combine)), options);
        detail::Encoded bytes;
        call.failed = detail::encode_into(bytes, value);
        return reduced<T>(detail::all_reduce(core_, name, std::move(bytes), std::move(call)));
    }

    // Each gives every other one the region that is named for its rank, and takes what comes from it into another. Each
    // asks for what it takes, of a few members at a time, so nobody is flooded. Counted are those whose bytes have
    // come; a failure is of one who did not come, or died, or whose region has another size (invalid_argument). It ends
    // when the others have taken theirs as well, or can be seen not to.
    [[nodiscard]] hl::Task<Result<Reached>> all_to_all(const std::string& name, std::map<Rank, bulk::Region> give,
                                                       std::map<Rank, bulk::Region> take,
                                                       const BulkOptions& options = {}) const {
        return reached(
            detail::all_to_all(core_, name, std::move(give), std::move(take), all_call({}, options.call), options));
    }

  private:
    struct Handle;
    explicit Group(std::shared_ptr<Core> core);
    Result<void> add(detail::ServedRpc served) const;

    template <typename R>
    static detail::CollectiveCall made(const R& rpc, detail::Mode mode, const CollectiveOptions& options,
                                       const typename R::Input& in) {
        detail::CollectiveCall call = with(options);
        call.rpc = rpc.name();
        call.shape = rpc::shape_of<typename R::Input>();
        call.mode = mode;
        call.failed = detail::encode_into(call.input, in);
        return call;
    }
    template <typename R>
    static std::vector<detail::CollectiveCall> made_each(const R& rpc, detail::Mode mode,
                                                         const CollectiveOptions& options,
                                                         const std::map<Rank, typename R::Input>& in) {
        std::vector<detail::CollectiveCall> calls;
        for (const auto& [rank, argument] : in) calls.push_back(to_one(rank, made(rpc, mode, options, argument)));
        return calls;
    }
    static detail::CollectiveCall to_one(Rank rank, detail::CollectiveCall call);
    template <typename Out, typename C>
    hl::Task<Result<Reduced<Out>>> reduced_by(C combine, detail::CollectiveCall call) const {
        call.combine = detail::combine_by<Out>(std::move(combine));
        return reduced<Out>(detail::collect(core_, std::move(call)));
    }
    static detail::CollectiveCall with(const CollectiveOptions& options);
    static detail::CollectiveCall all_call(detail::Combine combine, const CollectiveOptions& options);

    template <typename Out>
    static hl::Task<Result<Out>> one(hl::Task<Result<detail::Collected>> collecting) {
        auto collected = co_await collecting;
        if (!collected) co_return std::move(collected).error();
        if (!collected->failures.empty()) co_return error_of(collected->failures.front());
        if (collected->parts.size() != 1) co_return Errc::protocol;
        if constexpr (std::is_void_v<Out>) {
            co_return Result<void>();
        } else {
            Out out{};
            const Errc decoded = rpc::decode(ConstBytes(collected->parts.front().bytes), out);
            if (decoded != Errc::ok) co_return decoded;
            co_return out;
        }
    }
    static hl::Task<Result<Reached>> reached(hl::Task<Result<detail::Collected>> collecting);
    static Error error_of(const Failure& failure);

    template <typename Out>
    static hl::Task<Result<Gathered<Out>>> gathered(hl::Task<Result<detail::Collected>> collecting) {
        auto collected = co_await collecting;
        if (!collected) co_return std::move(collected).error();
        Gathered<Out> all;
        all.failures = std::move(collected->failures);
        for (const detail::Part& part : collected->parts) {
            Out out{};
            const Errc decoded = rpc::decode(ConstBytes(part.bytes), out);
            if (decoded == Errc::ok)
                all.values.emplace_back(part.rank, std::move(out));
            else
                all.failures.push_back({part.rank, decoded, 0, {}});
        }
        co_return all;
    }
    template <typename Out>
    static hl::Task<Result<Reduced<Out>>> reduced(hl::Task<Result<detail::Collected>> collecting) {
        auto collected = co_await collecting;
        if (!collected) co_return std::move(collected).error();
        Reduced<Out> all;
        all.count = collected->count;
        all.failures = std::move(collected->failures);
        if (all.count == 0) co_return all;
        Out out{};
        const Errc decoded = rpc::decode(ConstBytes(collected->combined), out);
        if (decoded != Errc::ok) co_return decoded;
        all.value = std::move(out);
        co_return all;
    }

    std::shared_ptr<Core> core_;
    std::shared_ptr<Handle> handle_;
};

}  // namespace cinnabar::group
