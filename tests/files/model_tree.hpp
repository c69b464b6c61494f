// SPDX-License-Identifier: BSD-3-Clause
// A model of a server's root, in memory: a tree with links and files with several names, whose paths are resolved as
// documented. Its answers are those that the service should give.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/files/entry.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cinnabar::files::test {

struct Thing {
    EntryKind kind = EntryKind::folder;
    std::string content;  // of a file
    std::string target;   // of a link
    std::uint32_t mode = 0;
    std::optional<std::pair<std::int64_t, std::uint32_t>> modified;  // unset: the time of creation
    bool checked = false;                                            // it was saved with a checksum
    std::map<std::string, std::shared_ptr<Thing>> names;             // entries of a folder
};
using ThingPtr = std::shared_ptr<Thing>;

class ModelTree {
  public:
    // The error that the service should return for any entry with that name; ok: the name is valid.
    [[nodiscard]] static Errc check(std::string_view name);

    // Puts a file or a link at the place that the name resolves to.
    Errc put(std::string_view name, ThingPtr thing, bool replace);
    Errc make_folder(std::string_view name);
    Errc remove(std::string_view name);

    // Follows links on the way and, with `follow`, also the last one.
    [[nodiscard]] std::pair<Errc, ThingPtr> find(std::string_view name, bool follow) const;

    // A file that is to get another name. invalid_argument: it is not a file.
    [[nodiscard]] std::pair<Errc, ThingPtr> find_for_link(std::string_view name) const;

    [[nodiscard]] const ThingPtr& root() const noexcept { return root_; }

  private:
    struct Walk;
    [[nodiscard]] std::pair<Errc, ThingPtr> find_parent(std::string_view name) const;

    ThingPtr root_ = std::make_shared<Thing>();
};

}  // namespace cinnabar::files::test
