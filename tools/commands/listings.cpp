// SPDX-License-Identifier: BSD-3-Clause
#include "commands/listings.hpp"

#include <cinnabar/hl/when_all.hpp>

#include <utility>

namespace cinnabar::tools {

hl::Task<std::vector<Result<files::Listing>>> list_each(files::Client& session, std::vector<std::string> names,
                                                        files::ExtendedKinds extended,
                                                        std::optional<std::string_view> no_links_below) {
    std::vector<hl::Task<Result<files::Listing>>> listings;
    listings.reserve(names.size());
    for (const auto& name : names) listings.push_back(session.list(name, extended, no_links_below));
    auto all = hl::when_all(std::move(listings));
    std::vector<Result<files::Listing>> listed = co_await std::move(all);
    co_return listed;
}

}  // namespace cinnabar::tools
