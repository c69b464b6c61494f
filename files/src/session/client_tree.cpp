// SPDX-License-Identifier: BSD-3-Clause
// The client's calls that transfer no content: they make, list, verify and remove entries, and list and remove remains.
#include "file/kept_attributes.hpp"
#include "session/client_session.hpp"
#include "session/remote_error.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/name.hpp>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

// Checks the name below another component, because some names are reserved in the root only.
bool is_one_component(std::string_view name) {
    return name.find('/') == std::string_view::npos && check_name(std::string("d/").append(name)).ok();
}

bool can_be(const Entry& entry, const ExtendedKinds& extended) {
    return is_one_component(entry.name) && entry.kind <= EntryKind::other && entry.bytes <= file_bytes_max &&
           can_be(entry.attributes, extended) && entry.target.size() <= name_bytes_max &&
           (entry.kind != EntryKind::link || !entry.target.empty());
}

std::uint64_t bytes_of(const std::vector<Entry>& entries) noexcept {
    std::uint64_t bytes = 0;
    for (const Entry& entry : entries)
        bytes += entry.name.size() + entry.target.size() + extended_bytes(entry.attributes.extended);
    return bytes;
}

bool can_be(const StoredChecksum& stored) { return stored.state <= StoredChecksum::State::good; }

}  // namespace

bool can_be(const Attributes& attributes, const ExtendedKinds& extended) noexcept {
    return attributes.modified_ns < 1'000'000'000 && extended_bytes(attributes.extended) <= extended_bytes_max &&
           std::ranges::all_of(attributes.extended,
                               [&](const ExtendedAttribute& attribute) { return is_kept(attribute.name, extended); });
}

hl::Task<Result<void>> ClientSession::make(MakeIn in) {
    seals_.stamp(in);
    Result<void> made = co_await node_.call(make_rpc, server_, in, open_deadline);
    if (!made) co_return from_remote(std::move(made).error());
    co_return made;
}

hl::Task<Result<Listing>> ClientSession::list(std::string name, ExtendedKinds extended,
                                              std::optional<std::string_view> no_links_below, ListingBudget* budget) {
    Listing all;
    ListingBudget of_this_one;
    ListingBudget& left = budget ? *budget : of_this_one;
    ListIn in;
    in.name = std::move(name);
    in.extended = extended;
    in.links = LinkLimit::of(no_links_below);
    do {
        seals_.stamp(in);
        auto part = co_await node_.call(list_rpc, server_, in, open_deadline);
        if (!part) co_return from_remote(std::move(part).error());
        const bool has_end = part->cursor == 0 || (!part->entries.empty() && part->cursor != in.cursor);
        const bool believed = left.take(part->entries.size(), bytes_of(part->entries));
        const bool possible =
            can_be(part->attributes, extended) &&
            std::ranges::all_of(part->entries, [&](const Entry& entry) { return can_be(entry, extended); });
        if (!has_end || !believed || !possible)
            co_return Error{Errc::protocol, "what the server tells of a folder is impossible", printable(in.name)};
        std::ranges::move(part->entries, std::back_inserter(all.entries));
        all.attributes = std::move(part->attributes);
        in.cursor = part->cursor;
    } while (in.cursor != 0);
    co_return all;
}

hl::Task<Result<Verified>> ClientSession::verify(const std::string& name) {
    SumIn in;
    in.name = name;
    hl::CallOptions options;
    options.deadline = commit_deadline;
    for (std::uint64_t position = 0;;) {
        seals_.stamp(in);
        auto out = co_await node_.call(sum_rpc, server_, in, options);
        if (!out) {
            if (in.file != 0) co_await give_up(in.file);
            co_return from_remote(std::move(out).error());
        }
        if (!can_be(out->verified.stored) || (out->file != 0 && out->position <= position))
            co_return Error{Errc::protocol, "what the server tells of a file is impossible", printable(name)};
        if (out->file == 0) co_return out->verified;
        position = out->position;
        in.file = out->file;
    }
}

hl::Task<Result<Seen>> ClientSession::look(const std::string& name, ExtendedKinds extended) {
    LookIn in;
    in.name = name;
    in.extended = extended;
    seals_.stamp(in);
    auto out = co_await node_.call(look_rpc, server_, in, open_deadline);
    if (!out) co_return from_remote(std::move(out).error());
    if (!can_be(out->entry, extended) || !can_be(out->stored) || out->entry.name != leaf_of(name))
        co_return Error{Errc::protocol, "what the server tells of a name is impossible", printable(name)};
    co_return Seen{std::move(out->entry), out->stored};
}

hl::Task<Result<void>> ClientSession::remove(const std::string& name, std::optional<std::string_view> no_links_below) {
    RemoveIn in;
    in.name = name;
    in.links = LinkLimit::of(no_links_below);
    seals_.stamp(in);
    Result<void> removed = co_await node_.call(remove_rpc, server_, in, open_deadline);
    if (!removed) co_return from_remote(std::move(removed).error());
    co_return removed;
}

hl::Task<Result<std::vector<Remains>>> ClientSession::list_remains() {
    std::vector<Remains> all;
    RemainsIn in;
    bool more = true;
    while (more) {
        seals_.stamp(in);
        auto part = co_await node_.call(remains_rpc, server_, in, open_deadline);
        if (!part) co_return from_remote(std::move(part).error());
        for (auto& remains : part->remains) {
            // The names must be ascending, so that the loop ends.
            if (!check_name(remains.name) || remains.name <= in.name || all.size() >= remains_max)
                co_return Error{Errc::protocol, "what the server tells of interrupted saves is impossible"};
            in.name = remains.name;
            all.push_back(std::move(remains));
        }
        more = part->more && !part->remains.empty();
    }
    co_return all;
}

hl::Task<Result<std::uint32_t>> ClientSession::remove_remains(std::string name) {
    RemainsIn in;
    in.remove = true;
    in.name = std::move(name);
    seals_.stamp(in);
    auto out = co_await node_.call(remains_rpc, server_, in, open_deadline);
    if (!out) co_return from_remote(std::move(out).error());
    co_return out->removed;
}

}  // namespace cinnabar::files
