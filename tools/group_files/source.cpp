// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/source.hpp"

#include "commands/address.hpp"
#include "commands/tree_plan.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/source_tree.hpp>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace cinnabar::tools::group_files {
namespace {

using files::EntryKind;

Report::Kind kind_of(EntryKind kind) {
    if (kind == EntryKind::folder) return Report::Kind::folder;
    return kind == EntryKind::link ? Report::Kind::link : Report::Kind::file;
}

// Adds the entries of one tree.
class TreeSources {
  public:
    TreeSources(const SavedTree& saved, const SaveOptions& options, files::SourceTree tree, Sources& into)
        : saved_(saved),
          options_(options),
          tree_(std::make_shared<const files::SourceTree>(std::move(tree))),
          into_(into) {}

    Result<void> add_all(Report& report) {
        CINNABAR_TRY(auto attributes, tree_->attributes(options_.extended));
        if (!saved_.base.empty()) {
            files::Entry top;
            top.kind = EntryKind::folder;
            top.attributes = std::move(attributes);
            add(std::move(top));
        }
        auto scan = tree_->scan(options_.filter, saved_.prefix, options_.extended);
        report.filtered(scan.filtered);
        for (const auto& problem : scan.problems) report.failed(file_of(problem.path, EntryKind::file), problem.error);
        for (auto& entry : scan.entries) {
            if (entry.kind == EntryKind::link && options_.safe_links && leads_out(entry.name, entry.target)) {
                report.failed(file_of(entry.name, entry.kind),
                              {Errc::invalid_argument, "a link that leads out of the tree: left out"});
                continue;
            }
            add(std::move(entry));
        }
        return {};
    }

  private:
    [[nodiscard]] Report::File file_of(const std::string& below, EntryKind kind) const {
        Report::File file;
        file.name = below.empty() ? saved_.base : join_name(saved_.base, below);
        file.path = below.empty() ? saved_.path : join_path(saved_.path, below);
        file.kind = kind_of(kind);
        return file;
    }
    void add(files::Entry entry) {
        Source source;
        source.file = file_of(entry.name, entry.kind);
        source.file.bytes = entry.kind == EntryKind::file ? entry.bytes : 0;
        if (entry.kind == EntryKind::file)
            source.open = [tree = tree_, below = entry.name] { return tree->open_file(below); };
        entry.name = source.file.name;
        if (entry.kind == EntryKind::folder) into_.folders.emplace(entry.name, entry.attributes);
        source.entry = std::move(entry);
        into_.all.push_back(std::move(source));
    }

    const SavedTree& saved_;
    const SaveOptions& options_;
    const std::shared_ptr<const files::SourceTree> tree_;
    Sources& into_;
};

Result<void> add_tree(const SavedTree& saved, const SaveOptions& options, Report& report, Sources& into) {
    CINNABAR_TRY(auto tree, files::SourceTree::open(saved.path));
    return TreeSources(saved, options, std::move(tree), into).add_all(report);
}

void complain_of(const std::string& one, const std::string& other, const std::string& name) {
    complain(printable(one) + " and " + printable(other) + " would both be saved as " + printable(name) +
             ": save them one by one, with --as or into different folders");
}

// Merges entries with the same name. Trees may share folders, but no other entries, because it would be undefined which
// entry is saved last. False: two entries that are not both folders have the same name, which was reported.
bool merge(std::vector<Source>& all) {
    std::map<std::string, const Source*> by_name;
    std::vector<Source> merged;
    merged.reserve(all.size());
    for (Source& source : all) {
        const auto [other, fresh] = by_name.try_emplace(source.entry.name, nullptr);
        if (fresh) {
            merged.push_back(std::move(source));
            other->second = &merged.back();
        } else if (source.entry.kind != EntryKind::folder || other->second->entry.kind != EntryKind::folder) {
            complain_of(other->second->file.path, source.file.path, source.entry.name);
            return false;
        }
    }
    all = std::move(merged);
    return true;
}

Result<void> add_file(const std::string& path, std::string name, const SaveOptions& options, Sources& into) {
    Source source;
    source.file.name = source.entry.name = std::move(name);
    source.file.path = path;
    source.open = [path] { return files::SourceFile::open(path); };
    CINNABAR_TRY_VOID(read_again(source, options.extended));
    into.all.push_back(std::move(source));
    return {};
}

}  // namespace

Result<void> read_again(Source& source, const files::ExtendedKinds& extended) {
    CINNABAR_TRY(const auto opened, source.open());
    source.file.bytes = source.entry.bytes = opened.bytes();
    CINNABAR_TRY(source.entry.attributes, opened.attributes(extended));
    return {};
}

std::optional<Sources> find_sources(const SaveOptions& options, const std::string& folder, Report& report) {
    Sources sources;
    std::map<std::string, std::string> path_by_name;
    for (const auto& path : options.files) {
        std::error_code unknown;
        const bool tree = std::filesystem::is_directory(path, unknown);
        const bool contents = tree && options.as.empty() && means_contents(path);
        const std::string_view leaf = options.as.empty() ? files::leaf_of(path) : std::string_view(options.as);
        auto name = join_name(folder, contents ? std::string_view() : leaf);
        const auto [other, fresh] = path_by_name.try_emplace(name, path);
        if (!fresh && !contents) {
            complain_of(other->second, path, name);
            return std::nullopt;
        }
        Result<void> added;
        if (tree) {
            const SavedTree saved{path, name, contents ? std::string() : std::string(files::leaf_of(path)) + "/"};
            added = add_tree(saved, options, report, sources);
        } else {
            added = add_file(path, name, options, sources);
        }
        if (!added) report.failed({std::move(name), path}, added.error());
    }
    if (!merge(sources.all)) return std::nullopt;
    return sources;
}

}  // namespace cinnabar::tools::group_files
