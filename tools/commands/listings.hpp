// SPDX-License-Identifier: BSD-3-Clause
// Lists several folders of a server at once, and looks at several names at once: one after the other, each would take a
// round trip. One thread.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/attributes.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools {

// How many folders a command lists, or names it looks at, at once.
inline constexpr std::size_t listed_at_once = 8;

// Lists the folders, at most listed_at_once, all at once. Returns a result for each, in order, as
// files::Client::list(). `budget` limits what all these listings hold together, and is charged as entries arrive.
// `session`, `budget`, and what `no_links_below` refers to must live until the task ends.
[[nodiscard]] hl::Task<std::vector<Result<files::Listing>>> list_each(
    files::Client& session, std::vector<std::string> names, files::ExtendedKinds extended, files::ListingBudget& budget,
    std::optional<std::string_view> no_links_below = {});

// Looks at all names, listed_at_once of them at a time. Returns a result for each, in order, as files::Client::look().
// After an error that ends the session, the remaining names get that error. `session` and `names` must live until the
// task ends.
[[nodiscard]] hl::Task<std::vector<Result<files::Seen>>> look_each(files::Client& session,
                                                                   const std::vector<std::string>& names);

}  // namespace cinnabar::tools
