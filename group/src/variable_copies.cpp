// SPDX-License-Identifier: BSD-3-Clause
// Looks up a key, joins a request for it that is in progress, puts and spreads values at their root, takes in values
// from others, and makes room within the limits of each process that is charged.
#include "variable_copies.hpp"

#include <algorithm>

namespace cinnabar::group {
namespace {

bool rules_now(const std::optional<Reign>& rule, const TreePosition& position) {
    return position.is_root() && rule == position.reign;
}

}  // namespace

// --- looking

VariableCopies::Found VariableCopies::find(const Asked& asked, const Here& here) {
    const std::lock_guard lock(mutex_);
    Entry* const entry = enter(asked.key, asked.source);
    if (!entry) {
        if (here.position.is_root()) return {Errc::overloaded, {}, {}, false};
        return join(nullptr, asked, here);
    }
    entry->used = ++uses_;
    return look(*entry, asked, here);
}

VariableCopies::Found VariableCopies::look(Entry& entry, const Asked& asked, const Here& here) {
    const bool enough = entry.copy.bytes && entry.copy.version >= std::max(asked.floor, entry.seen);
    if (!here.position.is_root()) entry.rule.reset();
    if (rules_now(entry.rule, here.position)) {
        if (enough) {
            entry.copy.until_us = after(here.now, limits_.copy_max);
            return {Errc::ok, entry.copy, {}, false};
        }
        if (asked.floor == Version{} && entry.seen == Version{}) return {Errc::not_found, {}, {}, false};
        // A process has seen a newer version: all members are asked again, but not too often.
        if (here.now < after(entry.settled_us, limits_.copy_max / 16)) return {Errc::stale, {}, {}, false};
    } else if (!here.position.is_root() && enough && here.life != 0 && entry.life == here.life &&
               here.now < entry.copy.until_us) {
        return {Errc::ok, entry.copy, {}, false};
    }
    return join(&entry, asked, here);
}

VariableCopies::Found VariableCopies::join(Entry* entry, const Asked& asked, const Here& here) {
    if (entry && entry->flight) {
        if (entry->flight->depth >= asked.depth) return {Errc::again, {}, {}, false};
        return {Errc::ok, {}, entry->flight, false};
    }
    auto flight = std::make_shared<Flight>();
    flight->depth = here.position.depth;
    flight->floor = asked.floor;
    if (entry) {
        flight->floor = std::max(asked.floor, entry->seen);
        flight->held = entry->copy;
        entry->flight = flight;
    }
    return {Errc::ok, {}, std::move(flight), true};
}

void VariableCopies::end(const std::string& key, Flight& flight, Errc code, Copy copy, const Here& here) {
    {
        const std::lock_guard lock(mutex_);
        const auto at = entries_.find(key);
        if (at != entries_.end() && at->second.flight.get() == &flight) {
            Entry& entry = at->second;
            entry.flight.reset();
            const bool newer = copy.version > entry.seen;
            if (code == Errc::ok && newer && !follows(copy.version, entry.seen)) code = Errc::protocol;
            if (code == Errc::ok && copy.version < entry.seen) code = Errc::again;  // a newer one came meanwhile
            if (code == Errc::ok && copy.bytes && (newer || copy.version == entry.seen))
                (void)keep(entry, copy, entry.source, here.life);
        }
        flight.code = code;
        flight.copy = std::move(copy);
    }
    flight.ended->set();
}

void VariableCopies::settle(const std::string& key, Flight& flight, Copy best, const Here& here) {
    {
        const std::lock_guard lock(mutex_);
        const auto at = entries_.find(key);
        // If the flight is no longer here, another member has become the ruling root meanwhile.
        if (at != entries_.end() && at->second.flight.get() == &flight) {
            Entry& entry = at->second;
            entry.flight.reset();
            entry.settled_us = here.now;
            const bool newer = best.bytes && best.version > entry.copy.version;
            if (!newer || keep(entry, best, entry.source, here.life))
                entry.rule = here.position.reign;
            else
                flight.code = Errc::overloaded;
        }
    }
    flight.ended->set();
}

// --- at the root

VariableCopies::Found VariableCopies::put(const Asked& asked, Copy value, const Here& here) {
    const std::lock_guard lock(mutex_);
    Entry* const entry = enter(asked.key, asked.source);
    if (!entry) return {Errc::overloaded, {}, {}, false};
    if (!rules_now(entry->rule, here.position)) return join(entry, asked, here);
    if (asked.floor > entry->seen && !follows(asked.floor, entry->seen)) return {Errc::protocol, {}, {}, false};
    value.version = {std::max(entry->seen.number, asked.floor.number) + 1, process_};
    value.until_us = after(here.now, limits_.copy_max);
    if (!keep(*entry, value, asked.source, here.life)) return {Errc::overloaded, {}, {}, false};
    return {Errc::ok, std::move(value), {}, false};
}

Copy VariableCopies::ruled(const std::string& key, const Here& here) const {
    const std::lock_guard lock(mutex_);
    const Entry* const entry = known(key);
    return entry && rules_now(entry->rule, here.position) ? entry->copy : Copy{};
}

bool VariableCopies::begin_spreading(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(key);
    return at != entries_.end() && !std::exchange(at->second.spreading, true);
}

bool VariableCopies::end_spreading(const std::string& key, const Version& told) {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(key);
    if (at == entries_.end()) return true;
    at->second.spreading = told != Version{} && at->second.copy.version > told;
    return !at->second.spreading;
}

// --- received from others

void VariableCopies::hear(const std::string& key, const Copy& copy, const na::Addr& source, const Here& here) {
    const std::lock_guard lock(mutex_);
    Entry* const entry = enter(key, source);
    if (!entry) return;  // then no older version is kept here either
    const bool same = copy.version == entry->seen;
    if (!same && !follows(copy.version, entry->seen)) return;
    entry->seen = copy.version;
    if (copy.bytes) {
        (void)keep(*entry, copy, source, here.life);
    } else if (!rules_now(entry->rule, here.position)) {
        entry->copy.until_us = 0;
    }
}

Result<Copy> VariableCopies::yield(const std::string& key, Rank to, const Here& here) {
    if (here.position.reign.root != to) return Errc::again;
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(key);
    if (at == entries_.end()) return Copy{};
    Entry& entry = at->second;
    entry.rule.reset();
    if (entry.flight && entry.flight->depth == 0) entry.flight.reset();  // its request is futile now
    return entry.copy;
}

Copy VariableCopies::held(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const Entry* const entry = known(key);
    return entry ? entry->copy : Copy{};
}

Version VariableCopies::seen(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const Entry* const entry = known(key);
    return entry ? entry->seen : Version{};
}

std::size_t VariableCopies::keys() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
}

std::uint64_t VariableCopies::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

// --- room

const VariableCopies::Entry* VariableCopies::known(const std::string& key) const {
    const auto at = entries_.find(key);
    return at == entries_.end() ? nullptr : &at->second;
}

VariableCopies::Entry* VariableCopies::enter(const std::string& key, const na::Addr& source) {
    if (const auto at = entries_.find(key); at != entries_.end()) {
        if (source.empty()) charge(at->second, source);  // this process uses the key from now on
        return &at->second;
    }
    if (!has_room(source)) return nullptr;
    Entry& entry = entries_[key];
    if (!source.empty()) ++shares_[&source.body()].keys;
    entry.source = source;
    entry.used = ++uses_;
    return &entry;
}

bool VariableCopies::has_room(const na::Addr& source) {
    if (!source.empty()) {
        const auto share = shares_.find(&source.body());
        if (share != shares_.end() && share->second.keys >= limits_.keys_max / 2) return forget_one(&source);
    }
    return entries_.size() < limits_.keys_max || forget_one(nullptr);
}

// Forgets the least recently used key, of one peer or of all.
bool VariableCopies::forget_one(const na::Addr* of) {
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
        const Entry& entry = at->second;
        const bool needed = entry.source.empty() || entry.flight || entry.spreading || (entry.rule && entry.copy.bytes);
        if (needed || (of && !(entry.source == *of))) continue;
        if (oldest == entries_.end() || entry.used < oldest->second.used) oldest = at;
    }
    if (oldest == entries_.end()) return false;
    drop(oldest->second);
    discharge(oldest->second.source, 1, 0);
    entries_.erase(oldest);
    return true;
}

void VariableCopies::charge(Entry& entry, const na::Addr& source) {
    if (entry.source == source) return;
    discharge(std::exchange(entry.source, source), 1, 0);
}

void VariableCopies::discharge(const na::Addr& source, std::size_t keys, std::uint64_t bytes) {
    if (source.empty()) return;
    const auto at = shares_.find(&source.body());
    at->second.keys -= keys;
    at->second.bytes -= bytes;
    if (at->second.keys == 0 && at->second.bytes == 0) shares_.erase(at);
}

bool VariableCopies::keep(Entry& entry, const Copy& copy, const na::Addr& payer, std::uint32_t life) {
    const std::uint64_t before = entry.copy.bytes ? entry.copy.bytes->size() : 0;
    const std::uint64_t more = copy.bytes->size();
    const auto share = payer.empty() ? shares_.end() : shares_.find(&payer.body());
    const std::uint64_t paid = share == shares_.end() ? 0 : share->second.bytes;
    const std::uint64_t back = entry.payer == payer ? before : 0;
    if (!payer.empty() && paid - back + more > limits_.bytes_max / 2) return false;
    if (more > before && !make_room(more - before, entry)) return false;
    drop(entry);
    entry.seen = std::max(entry.seen, copy.version);
    entry.copy = copy;
    entry.life = life;
    entry.payer = payer;
    if (!payer.empty()) shares_[&payer.body()].bytes += more;
    bytes_ += more;
    return true;
}

void VariableCopies::drop(Entry& entry) {
    if (!entry.copy.bytes) return;
    const std::uint64_t size = entry.copy.bytes->size();
    bytes_ -= size;
    discharge(std::exchange(entry.payer, na::Addr()), 0, size);
    entry.copy = {};
}

// Drops the least recently used copies.
bool VariableCopies::make_room(std::uint64_t bytes, const Entry& keeping) {
    while (bytes_ + bytes > limits_.bytes_max) {
        Entry* oldest = nullptr;
        for (auto& [key, entry] : entries_) {
            if (&entry == &keeping || !entry.copy.bytes || entry.copy.bytes->empty() || entry.rule) continue;
            if (!oldest || entry.used < oldest->used) oldest = &entry;
        }
        if (!oldest) return false;
        drop(*oldest);
    }
    return true;
}

}  // namespace cinnabar::group
