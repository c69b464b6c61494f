// SPDX-License-Identifier: BSD-3-Clause
#include "commands/tree_plan.hpp"

#include "commands/address.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <deque>
#include <utility>

namespace cinnabar::tools {
namespace {

std::size_t depth_of(std::string_view name) { return static_cast<std::size_t>(std::ranges::count(name, '/')); }

bool is_closed(const files::Attributes& folder) { return (folder.mode & 0700u) != 0700u; }

// Files whose content is to be compared; each lane takes one after another.
struct Comparing {
    std::vector<const Errand*> files;
    std::size_t next = 0;
    std::set<std::string, std::less<>> same = {};
    std::optional<Error> end = {};  // the error that ended the session
};

// Ignores a file that cannot be compared: the error is reported when the file is moved.
hl::Task<void> compare_lane(files::Client& session, Comparing& all) {
    while (!all.end && all.next < all.files.size()) {
        const Errand& errand = *all.files[all.next++];
        Result<bool> same = co_await errand.is_there(session);
        if (same && *same) all.same.insert(errand.result->name);
        if (!same && ends_all(same.code())) all.end = same.error();
    }
}

}  // namespace

void TreePlan::add_folder(Errand make, Errand finish) {
    const auto depth = depth_of(make.result->name);
    folders_[depth].push_back(std::move(make));
    finishes_[depth].push_back(std::move(finish));
}

void TreePlan::add_named_file(Errand errand, std::string as) {
    named_files_.push_back(std::move(as));
    add_file(std::move(errand));
}

SourceNames TreePlan::names() const {
    SourceNames names;
    names.given = bases_;
    names.others.insert(named_files_.begin(), named_files_.end());
    for (const auto& [depth, phase] : folders_) {
        for (const auto& errand : phase) names.folders.emplace(errand.result->name, errand.result->attributes);
    }
    for (const auto* errands : {&files_, &links_, &hard_links_}) {
        for (const auto& errand : *errands) {
            if (errand.result) names.others.insert(errand.result->name);
        }
    }
    return names;
}

std::string TreePlan::first_of(const files::Entry& entry, const std::string& name) {
    if (entry.inode == 0) return {};
    const auto [found, first] = first_names_.try_emplace({entry.device, entry.inode}, name);
    return first ? std::string() : found->second;
}

Result<void> TreePlan::check_names(std::string Report::File::*name, std::string Report::File::*source) const {
    std::map<std::string_view, const Errand*> by_name;
    const auto add = [&](const Errand& errand) -> Result<void> {
        const auto [other, fresh] = by_name.try_emplace(errand.file.*name, &errand);
        const bool folders =
            errand.file.kind == Report::Kind::folder && other->second->file.kind == Report::Kind::folder;
        if (fresh || folders) return {};
        return Error{Errc::invalid_argument,
                     "two entries would get the same name: take their sources one by one, or into different folders",
                     printable(other->second->file.*source) + " and " + printable(errand.file.*source) +
                         " would both become " + printable(errand.file.*name)};
    };
    for (const auto& [depth, phase] : folders_) {
        for (const auto& errand : phase) CINNABAR_TRY_VOID(add(errand));
    }
    for (const auto* errands : {&files_, &links_, &hard_links_}) {
        for (const auto& errand : *errands) CINNABAR_TRY_VOID(add(errand));
    }
    return {};
}

Plan TreePlan::take(ProgressBar& bar) {
    for (const auto& errand : files_) bar.add_total(errand.file.bytes);
    bar.add_files(files_.size());
    Plan plan;
    for (auto& [depth, phase] : folders_) plan.push_back(std::move(phase));
    plan.push_back(std::move(files_));
    plan.push_back(std::move(links_));
    plan.push_back(std::move(hard_links_));
    for (auto phase = finishes_.rbegin(); phase != finishes_.rend(); ++phase) plan.push_back(std::move(phase->second));
    return plan;
}

// Does not list folders that the plan does not contain.
hl::Task<Result<TreePlan::Inventory>> TreePlan::look(const Lister& list) const {
    std::set<std::string, std::less<>> planned;
    for (const auto& [depth, phase] : folders_) {
        for (const auto& errand : phase) planned.insert(errand.result->name);
    }
    Inventory inventory;
    std::deque<std::string> folders;
    for (const auto& base : bases_) folders.push_back(base.name);
    while (!folders.empty()) {
        const auto folder = std::move(folders.front());
        folders.pop_front();
        auto listing = co_await list(folder);
        if (!listing && ends_all(listing.code())) co_return std::move(listing).error();
        if (!listing) continue;  // it does not exist; any other error is reported by the transfer
        files::Entry own;
        own.kind = files::EntryKind::folder;
        own.attributes = std::move(listing->attributes);
        inventory.emplace(folder, std::move(own));
        for (auto& entry : listing->entries) {
            const auto name = folder.empty() ? entry.name : folder + "/" + entry.name;
            if (entry.kind == files::EntryKind::folder && planned.contains(name)) {
                folders.push_back(name);
            } else {
                inventory.emplace(name, std::move(entry));
            }
        }
    }
    co_return inventory;
}

hl::Task<Result<TreePlan::Names>> TreePlan::find_same_content(const Inventory& inventory, const SameAttributes& same,
                                                              ByContent how) const {
    Comparing all;
    for (const auto& errand : files_) {
        const auto there = errand.result ? inventory.find(errand.result->name) : inventory.end();
        if (there != inventory.end() && errand.is_there && there->second.kind == files::EntryKind::file &&
            there->second.bytes == errand.result->bytes &&
            same.mode(there->second.attributes, errand.result->attributes))
            all.files.push_back(&errand);
    }
    std::vector<hl::Task<void>> lanes;
    for (std::size_t i = 0; i < std::min<std::size_t>(how.jobs, all.files.size()); ++i)
        lanes.push_back(compare_lane(*how.session, all));
    if (!lanes.empty()) (void)co_await hl::when_all(std::move(lanes));
    if (all.end) co_return *all.end;
    co_return std::move(all.same);
}

hl::Task<Result<void>> TreePlan::leave_out_unchanged(const Lister& list, const SameAttributes& same_attributes,
                                                     Report& report, std::optional<ByContent> by_content) {
    Result<Inventory> looked = co_await look(list);
    if (!looked) co_return std::move(looked).error();
    const Inventory inventory = *std::move(looked);
    const auto of = [&](const std::string& name) {
        const auto found = inventory.find(name);
        return found == inventory.end() ? nullptr : &found->second;
    };
    Result<Names> same_content = Names{};
    if (by_content) same_content = co_await find_same_content(inventory, same_attributes, *by_content);
    if (!same_content) co_return std::move(same_content).error();
    Names same;
    const auto leave_out = [&](std::vector<Errand>& errands, const auto& is_same) {
        std::erase_if(errands, [&](const Errand& errand) {
            const auto* there = errand.result ? of(errand.result->name) : nullptr;
            if (!there || !is_same(errand, *there)) return false;
            same.insert(errand.result->name);
            report.unchanged(errand.file);
            return true;
        });
    };
    leave_out(files_, [&](const Errand& errand, const files::Entry& there) {
        if (by_content) return same_content->contains(errand.result->name);
        return there.kind == files::EntryKind::file && there.bytes == errand.result->bytes &&
               same_attributes.mode_and_time(there.attributes, errand.result->attributes);
    });
    leave_out(links_, [](const Errand& errand, const files::Entry& there) {
        return there.kind == files::EntryKind::link && there.target == errand.result->target;
    });
    leave_out(hard_links_, [&](const Errand& errand, const files::Entry& there) {
        const auto* first = same.contains(errand.result->target) ? of(errand.result->target) : nullptr;
        return first && there.inode != 0 && there.inode == first->inode && there.device == first->device;
    });
    leave_out_folders(inventory, same_attributes, report);
    co_return Result<void>();
}

// Keeps the step that finishes a folder only if an entry is made in the folder, or if the folder's attributes differ
// from the planned attributes. If an entry is made in an existing folder that its owner may not write to, also keeps
// the step that makes the folder, which lets the owner write to the folder for the time being.
void TreePlan::leave_out_folders(const Inventory& inventory, const SameAttributes& same, Report& report) {
    std::set<std::string, std::less<>> touched;
    for (const auto* errands : {&files_, &links_, &hard_links_}) {
        for (const auto& errand : *errands) {
            if (errand.result) touched.emplace(files::parent_of(errand.result->name));
        }
    }
    for (auto phase = folders_.rbegin(); phase != folders_.rend(); ++phase) {
        std::vector<Errand> left;
        for (auto& errand : phase->second) {
            const auto found = inventory.find(errand.result->name);
            const bool there = found != inventory.end() && found->second.kind == files::EntryKind::folder;
            if (there) report.unchanged(errand.file);
            if (!there) touched.emplace(files::parent_of(errand.result->name));
            if (!there) touched.emplace(errand.result->name);
            const bool opens = there && touched.contains(errand.result->name) && is_closed(found->second.attributes);
            if (opens) errand.file.kind = Report::Kind::hidden;
            if (!there || opens) left.push_back(std::move(errand));
        }
        phase->second = std::move(left);
    }
    for (auto& [depth, phase] : finishes_) {
        std::erase_if(phase, [&](const Errand& errand) {
            const auto found = inventory.find(errand.result->name);
            return found != inventory.end() && found->second.kind == files::EntryKind::folder &&
                   !touched.contains(errand.result->name) &&
                   same.mode_and_time(found->second.attributes, errand.result->attributes);
        });
    }
}

bool may_be_packed(const Report::File& file, const SaveOptions& options) noexcept {
    return !options.push && file.bytes <= files::small_file_bytes_max;
}

bool leads_out(std::string_view name, std::string_view target) {
    if (target.starts_with('/')) return true;
    std::size_t depth = depth_of(name);  // number of folders between the top of the tree and the link
    bool descended = false;              // into what may be a link, so ".." is no longer the folder that was left
    for (;;) {
        const auto slash = target.find('/');
        const auto component = target.substr(0, slash);
        if (component == "..") {
            if (descended || depth == 0) return true;
            --depth;
        } else if (!component.empty() && component != ".") {
            descended = true;
        }
        if (slash == target.npos) return false;
        target.remove_prefix(slash + 1);
    }
}

}  // namespace cinnabar::tools
