// SPDX-License-Identifier: BSD-3-Clause
// Copies: the values of keys that this process has, as their root or as copies, and the requests for them that are
// under way. Has no network: variable_fetch.cpp, variable_root.cpp and variable_update.cpp do what it asks for. Any
// thread.
//
// A key that this process uses stays known as long as the group, so that its versions never go back here. One that only
// others asked for is forgotten if there is no room for another, and copies are dropped; not so the values of which
// this process is the root.
#pragma once

#include "signal.hpp"
#include "variable_place.hpp"

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
    std::uint16_t shape = 0;                       // of the value's type
    std::shared_ptr<const detail::Encoded> bytes;  // null: none
    TimeUs until_us = 0;                           // it may be used before that
};

// One request for a value, for all that wait for it. It only waits for requests of a smaller depth, so that no requests
// wait for each other, whatever the views of their processes are.
struct Flight {
    unsigned depth = 0;  // of this process, when it began; 0: it settles as the root
    Version floor;       // nothing older is of use
    Copy held;           // what this process had when it began
    std::shared_ptr<Signal> ended = std::make_shared<Signal>();
    Errc code = Errc::ok;  // with `copy`: set once it has ended
    Copy copy;
};

class Copies {
  public:
    static constexpr std::size_t key_bytes_max = 256;
    // A liar must not use up all remaining versions at once.
    static constexpr std::uint64_t step_max = std::uint64_t{1} << 32;

    Copies(const VariableLimits& limits, std::uint64_t process) : limits_(limits), process_(process) {}

    // This process in the tree of a key.
    struct Here {
        Place place;
        std::uint32_t life = 0;  // its incarnation; 0: a follower, which cannot be told of updates
        TimeUs now = 0;
    };
    struct Asked {
        std::string key;
        Version floor;                                          // what the asking process has seen
        unsigned depth = std::numeric_limits<unsigned>::max();  // of who asks; this process's own tasks: the most
        na::Addr source;                                        // who asks; empty: this process itself
    };
    struct Found {
        Errc code = Errc::ok;
        std::optional<Copy> copy;
        std::shared_ptr<Flight> flight;  // wait for it, and look again
        bool fresh = false;              // whoever gets it has to run it
    };

    // A usable copy, a request to wait for, or the reason why there is neither: not_found; stale (the asking process
    // has seen a newer value, which nobody has any more); again (ask later: processes have different views).
    [[nodiscard]] Found find(const Asked& asked, const Here& here);
    // Ends a request, and keeps what it brought.
    void end(const std::string& key, Flight& flight, Errc code, Copy copy, const Here& here);
    // The same for a root that has asked all members: it now rules.
    void settle(const std::string& key, Flight& flight, Copy best, const Here& here);

    // --- at the root
    // Gives the value the next version. overloaded: no room. Otherwise as find().
    [[nodiscard]] Found put(const Asked& asked, Copy value, const Here& here);
    // The value, for those to be told. Null bytes: this process does not rule.
    [[nodiscard]] Copy ruled(const std::string& key, const Here& here) const;
    // True if the caller has to tell the others; false if somebody does already.
    [[nodiscard]] bool begin_spreading(const std::string& key);
    // False if there is a newer version to spread. Version{}: gives up.
    [[nodiscard]] bool end_spreading(const std::string& key, const Version& told);

    // --- told by others
    // Takes over a value, or (without bytes) stops using older copies, and this version's.
    void hear(const std::string& key, const Copy& copy, const na::Addr& source, const Here& here);
    // Another member is about to rule; this one no longer does. Returns what it has. again: by this process's view,
    // that member is not the root.
    [[nodiscard]] Result<Copy> yield(const std::string& key, Rank to, const Here& here);
    [[nodiscard]] Copy held(const std::string& key) const;
    [[nodiscard]] Version seen(const std::string& key) const;

    [[nodiscard]] std::size_t keys() const;
    [[nodiscard]] std::uint64_t bytes() const;

  private:
    struct Entry {
        na::Addr source;  // the peer that made it known and pays for it; empty: this process uses it
        Version seen;     // nothing older is given out
        Copy copy;
        na::Addr payer;             // the peer that gave the value
        std::uint32_t life = 0;     // in which the copy was taken
        std::uint64_t used = 0;     // when it was last used: a count
        std::optional<Reign> rule;  // as the root that has asked all others
        TimeUs settled_us = 0;
        std::shared_ptr<Flight> flight;
        bool spreading = false;
    };
    struct Share {  // of one peer
        std::size_t keys = 0;
        std::uint64_t bytes = 0;
    };
    using Entries = std::map<std::string, Entry>;
    // These require the lock. enter() returns null if there is no room.
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
    return version > seen && version.number - seen.number <= Copies::step_max;
}

}  // namespace cinnabar::group
