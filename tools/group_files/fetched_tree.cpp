// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/fetched_tree.hpp"

#include "commands/address.hpp"

#include <cinnabar/files/name.hpp>

#include <functional>
#include <set>
#include <string_view>
#include <utility>

namespace cinnabar::tools::group_files {
namespace {

using files::EntryKind;

Report::File file_of(const GroupTree& tree, const std::string& below, EntryKind kind) {
    Report::File file;
    file.name = below.empty() ? tree.where.name : join_name(tree.where.name, below);
    file.path = below.empty() ? tree.where.path : join_path(tree.where.path, below);
    if (kind == EntryKind::folder) file.kind = Report::Kind::folder;
    if (kind == EntryKind::link) file.kind = Report::Kind::link;
    return file;
}

// `left_out`: paths without a final '/'.
bool is_below_any(const std::set<std::string, std::less<>>& left_out, std::string_view path) {
    for (auto folder = files::parent_of(path); !folder.empty(); folder = files::parent_of(folder)) {
        if (left_out.contains(folder)) return true;
    }
    return false;
}

Error interrupted() { return {Errc::canceled, "interrupted"}; }

Error named_twice() {
    return {Errc::invalid_argument,
            "another entry that this command fetches has the same name here: fetch them into different directories"};
}

}  // namespace

std::vector<Wanted> FetchedTree::make(const GroupTree& tree) {
    report_.filtered(tree.filtered);
    std::vector<Wanted> files;
    const auto& base = tree.where.base;
    if (!base.empty() && !make_folder(file_of(tree, {}, EntryKind::folder), base, tree.attributes)) return files;
    std::set<std::string, std::less<>> left_out;
    for (const auto& entry : tree.entries.by_name()) {  // a folder comes before its contents
        const std::string& below = entry.first;
        const Found& found = entry.second;
        if (is_below_any(left_out, below)) continue;
        if (stop_.stop_requested()) {
            report_.skipped(file_of(tree, below, found.entry.kind), interrupted());
            continue;
        }
        if (!found.of_many_kinds) {
            if (!make_one(tree, below, found, files)) left_out.insert(below);
            continue;
        }
        left_out.insert(below);
        report_.failed(file_of(tree, below, EntryKind::file),
                       {Errc::invalid_argument, "the servers have entries of different kinds by this name"});
    }
    return files;
}

bool FetchedTree::claim(const std::string& as, EntryKind kind) {
    const auto [other, fresh] = claimed_.try_emplace(as, kind);
    return fresh || (kind == EntryKind::folder && other->second == EntryKind::folder);
}

bool FetchedTree::make_one(const GroupTree& tree, const std::string& below, const Found& found,
                           std::vector<Wanted>& files) {
    const files::Entry& entry = found.entry;
    auto file = file_of(tree, below, entry.kind);
    auto as = tree.where.base.empty() ? below : join_name(tree.where.base, below);
    const auto refuse = [&](const Error& why) {
        report_.failed(file, why);
        return false;
    };
    if (const auto possible = files::check_name(as); !possible) return refuse(possible.error());
    if (entry.kind == EntryKind::other) return refuse({Errc::invalid_argument, "a device, socket or pipe: left out"});
    if (entry.kind == EntryKind::link && options_.safe_links && leads_out(below, entry.target))
        return refuse({Errc::invalid_argument, "a link that leads out of the tree: left out"});
    if (entry.kind == EntryKind::folder) return make_folder(file, as, entry.attributes);
    if (!claim(as, entry.kind)) return refuse(named_twice());
    if (entry.kind == EntryKind::link) {
        add_link(file, as, entry);
        return true;
    }
    file.bytes = entry.bytes;
    Wanted wanted{std::move(file), std::move(as), entry, found.largest_bytes};
    // If the servers' copies differ, the local file is not compared with `entry`, because the copy of the first server
    // in the file's order is fetched, and `entry` may describe the copy of another server.
    const bool compares = !options_.ignore_times && !options_.by_content && !found.differ;
    if (compares && looks_same(wanted))
        report_.unchanged(wanted.file);
    else
        files.push_back(std::move(wanted));
    return true;
}

bool FetchedTree::make_folder(const Report::File& file, const std::string& as, const files::Attributes& attributes) {
    if (!claim(as, EntryKind::folder)) {
        report_.failed(file, named_twice());
        return false;
    }
    const auto here = look(as);
    const bool exists = here && here->kind == EntryKind::folder;
    const bool closed = exists && (here->attributes.mode & 0700u) != 0700u;  // made accessible until finish()
    if ((!exists || closed) && !options_.dry_run) {
        const Result<void> made = into_->make_folder(as);
        if (!exists || !made) tell(file, made);
        if (!made) return false;
    }
    if (!options_.dry_run) folders_.push_back({as, attributes});
    if (!exists && options_.dry_run) report_.planned(file);
    if (exists) report_.unchanged(file);
    return true;
}

void FetchedTree::add_link(const Report::File& file, const std::string& as, const files::Entry& entry) {
    const auto here = look(as);
    if (here && here->kind == EntryKind::link && here->target == entry.target) return report_.unchanged(file);
    if (options_.dry_run) return report_.planned(file);
    links_.push_back({file, as, entry});
}

bool FetchedTree::looks_same(const Wanted& wanted) const {
    const auto here = look(wanted.as);
    if (!here || here->kind != EntryKind::file || here->bytes != wanted.entry->bytes) return false;
    if (options_.by_content) return same_.mode(here->attributes, wanted.entry->attributes);
    return same_.mode_and_time(here->attributes, wanted.entry->attributes);
}

// Links are made when all files are there, so that no file is written where a link leads.
void FetchedTree::finish() {
    const auto existing = options_.replace ? files::Existing::replace : files::Existing::keep;
    for (const Link& link : std::exchange(links_, {})) {
        if (stop_.stop_requested())
            report_.skipped(link.file, interrupted());
        else
            tell(link.file, into_->make_link(link.as, link.entry.target, link.entry.attributes, existing));
    }
    for (auto folder = folders_.rbegin(); folder != folders_.rend() && !stop_.stop_requested(); ++folder) {
        const auto here = look(folder->as);
        if (!here || here->kind != EntryKind::folder) continue;  // it could not be made, which was reported
        if (same_.mode_and_time(here->attributes, folder->attributes)) continue;
        const auto finished = into_->finish_folder(folder->as, folder->attributes);
        if (finished) continue;
        Report::File file;
        file.name = folder->as;
        file.path = join_path(options_.folder, folder->as);
        file.kind = Report::Kind::hidden;
        report_.failed(file, finished.error());
    }
}

std::optional<files::Entry> FetchedTree::look(const std::string& as) const {
    if (!into_) return std::nullopt;
    auto here = into_->look(as, options_.extended);
    if (!here) return std::nullopt;
    return *std::move(here);
}

void FetchedTree::tell(const Report::File& file, const Result<void>& made) {
    if (made) {
        report_.done(file);
    } else {
        report_.failed(file, made.error());
    }
}

}  // namespace cinnabar::tools::group_files
