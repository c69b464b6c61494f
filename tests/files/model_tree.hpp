// SPDX-License-Identifier: BSD-3-Clause
// What a root should hold, in memory: a tree with links and several names of one file, whose paths are resolved as the
// service documents it. Every answer is what the service should answer.
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
    std::optional<std::pair<std::int64_t, std::uint32_t>> modified;  // nothing: when it was made
    bool checked = false;                                            // it was saved with a checksum
    std::map<std::string, std::shared_ptr<Thing>> names;             // of a folder
};
using ThingPtr = std::shared_ptr<Thing>;

class ModelTree {
  public:
    // The code that the service should answer for anything with that name; ok: the name can be.
    [[nodiscard]] static Errc check(std::string_view name);

    // Puts a file or a link where the name leads to.
    Errc put(std::string_view name, ThingPtr thing, bool replace);
    Errc make_folder(std::string_view name);
    Errc remove(std::string_view name);

    // Links on the way are followed, and with `follow` the last one, too.
    [[nodiscard]] std::pair<Errc, ThingPtr> find(std::string_view name, bool follow) const;

    // A file that is to get a further name. invalid_argument: it is none.
    [[nodiscard]] std::pair<Errc, ThingPtr> find_for_link(std::string_view name) const;

    [[nodiscard]] const ThingPtr& root() const noexcept { return root_; }

  private:
    struct Walk;
    [[nodiscard]] std::pair<Errc, ThingPtr> find_parent(std::string_view name) const;

    ThingPtr root_ = std::make_shared<Thing>();
};

}  // namespace cinnabar::files::test
