// SPDX-License-Identifier: BSD-3-Clause
#include "commands/extraneous.hpp"

#include "commands/address.hpp"
#include "commands/session.hpp"

#include <cinnabar/files/name.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace cinnabar::tools {
namespace {

using files::EntryKind;

// If the receiving side lists more, nothing is removed.
constexpr std::size_t searched_entries_max = 10'000'000;

std::ptrdiff_t depth_below_root(std::string_view name) { return std::ranges::count(name, '/'); }

// The search through the given folders, one listing after another.
class Search {
  public:
    struct Visit {
        std::string name;
        const GivenFolder* given = nullptr;
        bool extraneous = false;
    };

    Search(const SourceNames& names, const files::Filter& filter) : names_(names), filter_(filter) {
        for (const auto& given : names.given) enter({given.name, &given});
    }
    // The next folder to be listed; empty: none is left.
    [[nodiscard]] std::optional<Visit> next() {
        if (folders_.empty()) return std::nullopt;
        Visit visit = std::move(folders_.front());
        folders_.pop_front();
        return visit;
    }
    // False: there are too many entries.
    [[nodiscard]] bool take(const Visit& visit, const files::Listing& listing) {
        count_ += listing.entries.size();
        for (const auto& entry : listing.entries) take(visit, entry);
        if ((listing.attributes.mode & 0700u) != 0700u) closed_.try_emplace(visit.name, listing.attributes);
        return count_ <= searched_entries_max;
    }
    [[nodiscard]] Deletion result(std::optional<std::uint64_t> limit) {
        std::erase_if(found_, [this](const Extraneous& entry) { return holding_.contains(entry.name); });
        std::ranges::stable_sort(found_, [](const Extraneous& a, const Extraneous& b) {
            const auto deep = depth_below_root(a.name);
            const auto other = depth_below_root(b.name);
            return deep != other ? deep > other : a.name < b.name;
        });
        Deletion deletion;
        if (limit && found_.size() > *limit) {
            deletion.left = found_.size() - *limit;
            found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(*limit), found_.end());
        }
        open_and_finish(deletion);
        deletion.entries = std::move(found_);
        return deletion;
    }

  private:
    // Plans which closed folders are opened to their owner, and the mode and time that folders get afterwards: those of
    // the source's folder, if the source has the folder; otherwise those that the closed folder had before.
    void open_and_finish(Deletion& deletion) const {
        std::vector<std::string_view> parents;  // in the order of found_: those of one folder follow each other
        std::set<std::string_view> gone;        // of the closed folders
        for (const auto& entry : found_) {
            const auto parent = files::parent_of(entry.name);
            if (parents.empty() || parents.back() != parent) parents.push_back(parent);
            if (closed_.contains(entry.name)) gone.insert(entry.name);
        }
        for (const auto parent : parents) {
            const auto folder = names_.folders.find(parent);
            const auto closed = closed_.find(parent);
            if (folder != names_.folders.end()) {
                deletion.changed.push_back({folder->first, folder->second});
            } else if (closed != closed_.end() && !parent.empty() && !gone.contains(parent)) {
                deletion.changed.push_back({closed->first, closed->second});
            }
        }
        for (auto parent = parents.rbegin(); parent != parents.rend(); ++parent) {
            if (closed_.contains(*parent) && !parent->empty()) deletion.closed.emplace_back(*parent);
        }
    }
    void enter(Visit visit) {
        if (entered_.insert(visit.name).second) folders_.push_back(std::move(visit));
    }
    void take(const Visit& visit, const files::Entry& entry) {
        auto name = join_name(visit.name, entry.name);
        const bool folder = entry.kind == EntryKind::folder;
        if (names_.has(name)) {
            if (visit.extraneous) hold(visit);
            if (folder && names_.folders.contains(name)) enter({std::move(name), visit.given});
            return;
        }
        if (is_kept(visit, name, folder)) return hold(visit);
        found_.push_back({name, visit.given->name, entry.kind});
        if (folder) enter({std::move(name), visit.given, true});
    }
    // An impossible name, for example one that is too long, cannot be removed.
    [[nodiscard]] bool is_kept(const Visit& visit, const std::string& name, bool folder) const {
        const auto& top = visit.given->name;
        const auto below = std::string_view(name).substr(top.empty() ? 0 : top.size() + 1);
        return (!folder && files::is_unfinished_name(files::leaf_of(name))) || !files::check_name(name) ||
               !filter_.takes(std::string(visit.given->prefix).append(below), folder);
    }
    // Keeps the folder, and those that it is in, since something in it is kept.
    void hold(const Visit& visit) {
        const auto top = visit.given->name.size();
        for (std::string_view up = visit.name; up.size() > top; up = files::parent_of(up)) {
            if (!holding_.emplace(up).second) return;
        }
    }

    const SourceNames& names_;
    const files::Filter& filter_;
    std::deque<Visit> folders_;
    std::set<std::string, std::less<>> entered_;
    std::vector<Extraneous> found_;
    std::set<std::string, std::less<>> holding_;                    // folders with something in them that is kept
    std::map<std::string, files::Attributes, std::less<>> closed_;  // folders that their owner may not write to
    std::size_t count_ = 0;
};

}  // namespace

void SourceNames::merge(SourceNames more) {
    std::ranges::move(more.given, std::back_inserter(given));
    folders.merge(more.folders);
    others.merge(more.others);
}

hl::Task<Result<Deletion>> find_extraneous(const SourceNames& names, const files::Filter& filter,
                                           std::optional<std::uint64_t> limit, const ListBelow& list,
                                           const CannotList& failed) {
    Search search(names, filter);
    for (auto visit = search.next(); visit; visit = search.next()) {
        Result<files::Listing> listing = co_await list(visit->name, visit->given->name);
        if (!listing && ends_all(listing.code())) co_return std::move(listing).error();
        if (!listing && listing.code() == Errc::not_found) continue;
        if (!listing) {
            failed(visit->name, listing.error());
            co_return Deletion{};
        }
        if (!search.take(*visit, *listing))
            co_return Error{Errc::too_large, "the folders to be cleaned have over 10,000,000 entries: none is deleted"};
    }
    co_return search.result(limit);
}

}  // namespace cinnabar::tools
