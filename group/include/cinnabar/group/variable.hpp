// SPDX-License-Identifier: BSD-3-Clause
// Variable: a value under a key that all processes of a group can read and replace, such as a configuration.
//
//     Variable<Config> config(group, "config");
//     Version version = (co_await config.update(wanted)).value();
//     Versioned<Config> now = (co_await config.fetch()).value();
//
// One member, the root, owns the value. The root is chosen by a hash of the key, so keys are distributed over the
// members. The other members keep copies. Each fetches its copy from the member above it in a tree, so the root sends
// even a popular value only a few times. Any process may update; each update has a version. docs/groups.md says what is
// guaranteed, and what is lost if the root dies.
//
// The versions of a key that one process sees never decrease. After an eager update has succeeded, no member gets an
// older version. There is no quorum: during a network partition, each part has its own versions; when the parts
// reconnect, the larger version wins.
//
// A cheap handle, which holds its Group. Thread-safe. Must be destroyed before the node. T must be an argument of calls
// (docs/guide.md), without views.
#pragma once

#include <cinnabar/group/group.hpp>
#include <cinnabar/group/variable_options.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cinnabar::group {
namespace detail {

struct FetchedValue {
    Version version;
    std::shared_ptr<const Encoded> bytes;
};
struct Bounds {
    Microseconds deadline{0};
    std::stop_token stop;
};
[[nodiscard]] CINNABAR_API hl::Task<Result<FetchedValue>> fetch_variable(std::shared_ptr<Core> core, std::string key,
                                                                         std::uint16_t shape, Bounds bounds);
// Without bytes: drops all copies of the current version.
[[nodiscard]] CINNABAR_API hl::Task<Result<Version>> update_variable(std::shared_ptr<Core> core, std::string key,
                                                                     std::uint16_t shape, Sync sync,
                                                                     std::optional<Encoded> bytes, Bounds bounds);

}  // namespace detail

template <typename T>
class Variable {
    static_assert(!hl::detail::borrows<true, T>(), "cinnabar: a variable's value cannot hold views");

  public:
    // key: at most 256 bytes. Processes that use the same key must use the same T.
    Variable(Group group, std::string key) : group_(std::move(group)), key_(std::move(key)) {}

    [[nodiscard]] const std::string& key() const noexcept { return key_; }

    // Returns a value whose version is at least the latest that this process has seen. The value is taken from the
    // local copy if that copy is not older than VariableLimits::copy_max. not_found: there is no value yet. stale: this
    // process has seen a newer value, and all members that had it are gone; update the variable. bad_signature: the
    // value has another type. timed_out, canceled: the task or the options ended the call; closed: this process has
    // left the group; unreachable: no member is known.
    [[nodiscard]] hl::Task<Result<Versioned<T>>> fetch(const VariableOptions& options = {}) const {
        return decoded(detail::fetch_variable(group_.core_, key_, rpc::shape_of<T>(), bounds(options)));
    }
    // Replaces the value, and returns the new version when `sync` is fulfilled. too_large: see VariableLimits.
    // overloaded: the root has no room. timed_out, canceled, peer_lost: the value may or may not have been replaced; an
    // eager update may have been applied without all members knowing of it.
    [[nodiscard]] hl::Task<Result<Version>> update(const T& value, Sync sync = Sync::eager,
                                                   const VariableOptions& options = {}) const {
        detail::Encoded bytes;
        const Errc failed = detail::encode_into(bytes, value);
        if (failed != Errc::ok) return refused(failed);
        return detail::update_variable(group_.core_, key_, rpc::shape_of<T>(), sync, std::move(bytes), bounds(options));
    }
    // Makes all members drop their copies, for use after updates with Sync::none. Returns the root's version once no
    // member may still use the copy that it had before. Errors of update(), and not_found.
    [[nodiscard]] hl::Task<Result<Version>> invalidate(const VariableOptions& options = {}) const {
        return detail::update_variable(group_.core_, key_, rpc::shape_of<T>(), Sync::eager, std::nullopt,
                                       bounds(options));
    }

  private:
    static detail::Bounds bounds(const VariableOptions& options) {
        detail::Bounds bounds;
        bounds.deadline = options.deadline.value_or(Microseconds(0));
        if (options.deadline && bounds.deadline.count() <= 0) bounds.deadline = Microseconds(1);
        if (options.stop) bounds.stop = *options.stop;
        return bounds;
    }
    static hl::Task<Result<Version>> refused(Errc code) { co_return code; }
    static hl::Task<Result<Versioned<T>>> decoded(hl::Task<Result<detail::FetchedValue>> fetching) {
        auto fetched = co_await fetching;
        if (!fetched) co_return std::move(fetched).error();
        Versioned<T> versioned;
        versioned.version = fetched->version;
        const Errc failed = rpc::decode(ConstBytes(*fetched->bytes), versioned.value);
        if (failed != Errc::ok) co_return failed;
        co_return versioned;
    }

    Group group_;
    std::string key_;
};

}  // namespace cinnabar::group
