// SPDX-License-Identifier: BSD-3-Clause
// The part of group calls that does not depend on their types: arguments and results as bytes.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/group/bulk_options.hpp>
#include <cinnabar/group/portion.hpp>
#include <cinnabar/hl/pool.hpp>
#include <cinnabar/hl/rpc.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/rpc/proc.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::group {

class Core;

// Identifies the call and its caller, for handlers that take this argument.
struct CallInfo {
    Rank self = no_rank;  // the rank under which this process is called
    std::uint64_t origin = 0;
    std::uint64_t number = 0;  // with `origin` it identifies the call; the same at all members
    na::Addr source;           // sender of the request: the caller or the member above; empty: this process
};

namespace detail {

using Encoded = std::vector<std::byte>;

struct LocalOutcome {
    Errc code = Errc::ok;
    std::uint32_t app_code = 0;
    std::string text;
    Encoded output;
};

// Combines `more` into `into`; `input` holds the arguments of the call.
using Combine = std::function<Errc(const Encoded& input, Encoded& into, const Encoded& more)>;

struct ServedRpc {
    std::string_view name;
    rpc::RpcId id = 0;
    std::uint16_t shape = 0;
    // Exactly one of the two is set, depending on whether the call moves memory. The arguments outlive the task.
    std::function<hl::Task<LocalOutcome>(const CallInfo& info, const Encoded& input)> run;
    std::function<hl::Task<LocalOutcome>(const CallInfo& info, const Encoded& input, Portion portion)> run_bulk;
    Combine combine;  // may be empty
    // Whether the handler waits until the members below this one have answered; it waits only for a limited time. For
    // handlers after which the program may leave the group.
    bool after_below = false;
};

enum class Mode : std::uint8_t { count, gather, reduce };

// The bytes for one member, or from one member.
struct Part {
    Rank rank = no_rank;
    Encoded bytes;
};

struct CollectiveCall {
    hl::RpcName rpc;
    std::uint16_t shape = 0;
    Mode mode = Mode::count;
    Encoded input;
    std::vector<Part> inputs;  // for a scatter, instead of `input`
    Combine combine;           // used on this side
    std::vector<Rank> only;
    std::vector<Rank> except;
    bool everybody = true;  // all members: `only` is not used
    Tree tree = Tree::automatic;
    unsigned fanout = 0;
    Microseconds deadline{0};
    std::stop_token stop;
    hl::Priority priority = hl::Priority::normal;
    bool counts = false;                    // subject to GroupOptions::quota
    Errc failed = Errc::ok;                 // set if the arguments could not be encoded
    Errc gone = Errc::peer_lost;            // code for a called member that has left the group and ran nothing
    std::shared_ptr<PortionState> portion;  // the memory that the call moves; null: none
};

struct Collected {
    std::size_t count = 0;
    std::vector<Part> parts;
    Encoded combined;
    std::vector<Failure> failures;
};

[[nodiscard]] CINNABAR_API hl::Task<Result<Collected>> collect(std::shared_ptr<Core> core, CollectiveCall call);
// Calls all members, each with its own arguments, and collects the answers. If there are few members, or the arguments
// are large, the caller calls all of them directly; otherwise the call goes down a tree.
[[nodiscard]] CINNABAR_API hl::Task<Result<Collected>> collect_each(std::shared_ptr<Core> core,
                                                                    std::vector<CollectiveCall> calls);
// All members make this call under the same name, and each gets the combination of all values.
[[nodiscard]] CINNABAR_API hl::Task<Result<Collected>> all_reduce(std::shared_ptr<Core> core, std::string name,
                                                                  Encoded value, CollectiveCall call);

// Moves the region down one tree.
[[nodiscard]] CINNABAR_API hl::Task<Result<Collected>> broadcast_bulk(std::shared_ptr<Core> core, CollectiveCall call,
                                                                      bulk::Region region, BulkOptions options);
// Moves one region for each rank, to the members or from them.
[[nodiscard]] CINNABAR_API hl::Task<Result<Collected>> move_each(std::shared_ptr<Core> core, CollectiveCall call,
                                                                 std::map<Rank, bulk::Region> regions,
                                                                 BulkOptions options, bool to_members);
[[nodiscard]] CINNABAR_API hl::Task<Result<Collected>> all_to_all(std::shared_ptr<Core> core, std::string name,
                                                                  std::map<Rank, bulk::Region> give,
                                                                  std::map<Rank, bulk::Region> take,
                                                                  CollectiveCall call, BulkOptions options);

template <typename T>
[[nodiscard]] Errc encode_into(Encoded& out, const T& value) {
    const std::size_t bytes = rpc::proc_size(value);
    if (bytes == rpc::Sizer::unencodable) return Errc::too_large;
    out.resize(bytes);
    std::size_t used = 0;
    const Errc done = rpc::encode(Bytes(out), value, used);
    out.resize(used);
    return done;
}

template <typename Out, typename F>
[[nodiscard]] Combine combine_by(F f) {
    return [f = std::move(f)](const Encoded&, Encoded& into, const Encoded& more) -> Errc {
        Out a{};
        Out b{};
        if (const Errc failed = rpc::decode(ConstBytes(into), a); failed != Errc::ok) return failed;
        if (const Errc failed = rpc::decode(ConstBytes(more), b); failed != Errc::ok) return failed;
        try {
            f(a, std::as_const(b));
        } catch (...) {
            hl::detail::log_exception("a combiner");
            return Errc::handler_failed;
        }
        return encode_into(into, a);
    };
}

}  // namespace detail
}  // namespace cinnabar::group
