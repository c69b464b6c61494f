// SPDX-License-Identifier: BSD-3-Clause
// VariableCopies: the values of variables that this process has, as their root or as copies, and the requests for them
// in progress. Does no I/O: variable_fetch.cpp, variable_root.cpp and variable_update.cpp send the requests. Any
// thread.
//
// A key that this process itself uses is remembered as long as the group lives, so that its versions never decrease
// here. A key that only other processes asked for is forgotten when room is needed for another. Copies are dropped to
// make room, but not values of which this process is the root.
#pragma once

#include "signal.hpp"
#include "variable_tree.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/group/erased.hpp>
#include <cinnabar/group/variable_options.hpp>
#include <cinnabar/na/addr.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace cinnabar::group {

struct Copy {
    Version version;
    std::uint16_t shape = 0;                       // shape of the value's type
    std::shared_ptr<const detail::Encoded> bytes;  // null: none
    TimeUs until_us = 0;                           // may be used until then
};

// A request for a value, shared by all tasks that wait for it. It waits only for requests of a smaller depth, so that
// requests cannot wait for each other in a cycle, even if processes have different views.
struct Flight {
    unsigned depth = 0;  // depth of this process when the request began; 0: it settles the key as root
    Version floor;       // older versions are useless
    Copy held;           // the copy that this process had when the request began
    std::shared_ptr<Signal> ended = std::make_shared<Signal>();
    Errc code = Errc::ok;  // set together with `copy` when the request has ended
    Copy copy;
};

class VariableCopies {
  public:
    static constexpr std::size_t key_bytes_max = 256;
    // A lying peer must not be able to use up all version numbers at once.
    static constexpr std::uint64_t step_max = std::uint64_t{1} << 32;

    VariableCopies(const VariableLimits& limits, std::uint64_t process) : limits_(limits), process_(process) {}

    // The position of this process in the tree of a key.
    struct Here {
        TreePosition position;
        std::uint32_t life = 0;  // its incarnation; 0: a follower, which cannot be notified of updates
        TimeUs now = 0;
    };
    struct Asked {
        std::string key;
        Version floor;                                          // the version that the asking process has seen
        unsigned depth = std::numeric_limits<unsigned>::max();  // depth of the asking process; the maximum for this
                                                                // process's own tasks
        na::Addr source;                                        // the asking process; empty: this process itself
    };
    struct Found {
        Errc code = Errc::ok;
        std::optional<Copy> copy;
        std::shared_ptr<Flight> flight;  // if set, wait for it and call find() again
        bool fresh = false;              // the caller must run the request
    };

    // Returns a usable copy, a request to wait for, or an error: not_found; stale (the asking process has seen a newer
    // value that no member still has); again (retry later: processes have different views).
    [[nodiscard]] Found find(const Asked& asked, const Here& here);
    // Ends a request and keeps the value that it returned.
    void end(const std::string& key, Flight& flight, Errc code, Copy copy, const Here& here);
    // As end(), for a root that has asked all members: from now on it rules the key.
    void settle(const std::string& key, Flight& flight, Copy best, const Here& here);

    // --- at the root
    // Stores the value with the next version. overloaded: no room. Otherwise as find().
    [[nodiscard]] Found put(const Asked& asked, Copy value, const Here& here);
    // The value to be sent to other members. Null bytes: this process does not rule the key.
    [[nodiscard]] Copy ruled(const std::string& key, const Here& here) const;
    // True: the caller must notify the others. False: another task is doing it.
    [[nodiscard]] bool begin_spreading(const std::string& key);
    // Ends what begin_spreading() began. `told`: the version that the others now know; Version{}: the caller gives up.
    // False: there is a newer version, which the caller must spread first.
    [[nodiscard]] bool end_spreading(const std::string& key, const Version& told);

    // --- received from others
    // Stores a received value, or (without bytes) stops using copies of this version and older ones.
    void hear(const std::string& key, const Copy& copy, const na::Addr& source, const Here& here);
    // Stops ruling the key, because the member `to` is about to rule it. Returns this process's copy. again: in this
    // process's view, `to` is not the root.
    [[nodiscard]] Result<Copy> yield(const std::string& key, Rank to, const Here& here);
    [[nodiscard]] Copy held(const std::string& key) const;
    [[nodiscard]] Version seen(const std::string& key) const;

    [[nodiscard]] std::size_t keys() const;
    [[nodiscard]] std::uint64_t bytes() const;

  private:
    struct Entry {
        na::Addr source;  // the peer that created the entry and is charged for it; empty: this process uses the key
        Version seen;     // older versions are not returned
        Copy copy;
        na::Addr payer;             // the peer that sent the value, charged for its bytes
        std::uint32_t life = 0;     // incarnation in which the copy was stored
        std::uint64_t used = 0;     // time of last use, as a count
        std::optional<Reign> rule;  // set if this process rules the key as its root
        TimeUs settled_us = 0;
        std::shared_ptr<Flight> flight;
        bool spreading = false;
    };
    struct Share {  // of one peer
        std::size_t keys = 0;
        std::uint64_t bytes = 0;
    };
    using Entries = std::map<std::string, Entry>;
    // The following functions require the lock. enter() returns null if there is no room.
    [[nodiscard]] Entry* enter(const std::string& key, const na::Addr& source);
    [[nodiscard]] bool has_room(const na::Addr& source);
    [[nodiscard]] bool forget_one(const na::Addr* of);
    void charge(Entry& entry, const na::Addr& source);
    void discharge(const na::Addr& source, std::size_t keys, std::uint64_t bytes);
    [[nodiscard]] Found look(Entry& entry, const Asked& asked, const Here& here);
    [[nodiscard]] static Found join(Entry* entry, const Asked& asked, const Here& here);
    // Returns false if there is no room.
    bool keep(Entry& entry, const Copy& copy, const na::Addr& payer, std::uint32_t life);
    void drop(Entry& entry);
    [[nodiscard]] bool make_room(std::uint64_t bytes, const Entry& keeping);
    [[nodiscard]] const Entry* known(const std::string& key) const;

    const VariableLimits limits_;
    const std::uint64_t process_;
    mutable std::mutex mutex_;
    Entries entries_;
    std::unordered_map<const na::AddrBody*, Share> shares_;  // the entries hold the addresses
    std::uint64_t bytes_ = 0;
    std::uint64_t uses_ = 0;
};

// Whether a version may follow `seen`.
[[nodiscard]] constexpr bool follows(const Version& version, const Version& seen) noexcept {
    return version > seen && version.number - seen.number <= VariableCopies::step_max;
}

}  // namespace cinnabar::group
