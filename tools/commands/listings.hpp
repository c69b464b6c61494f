// SPDX-License-Identifier: BSD-3-Clause
// Lists several folders of a server at once, and looks at several names at once, because each takes a round trip. One
// thread.
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

// How many folders a command lists at once, and how many names it looks up at once.
inline constexpr std::size_t listed_at_once = 8;

// Lists all the folders at once. Requires: at most listed_at_once folders. Returns a result for each folder, in order,
// as files::Client::list(). `budget` limits the memory of all these listings together, and is charged as entries
// arrive. `session`, `budget`, and the text of `no_links_below` must live until the task ends.
[[nodiscard]] hl::Task<std::vector<Result<files::Listing>>> list_each(
    files::Client& session, std::vector<std::string> names, files::ExtendedKinds extended, files::ListingBudget& budget,
    std::optional<std::string_view> no_links_below = {});

// Looks at all names, listed_at_once names at a time. Returns a result for each name, in order, as
// files::Client::look(). After an error that ends the session, the remaining names get that error. `session` and
// `names` must live until the task ends.
[[nodiscard]] hl::Task<std::vector<Result<files::Seen>>> look_each(files::Client& session,
                                                                   const std::vector<std::string>& names);

}  // namespace cinnabar::tools
