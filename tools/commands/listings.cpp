// SPDX-License-Identifier: BSD-3-Clause
#include "commands/listings.hpp"

#include "commands/session.hpp"

#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::tools {

hl::Task<std::vector<Result<files::Listing>>> list_each(files::Client& session, std::vector<std::string> names,
                                                        files::ExtendedKinds extended, files::ListingBudget& budget,
                                                        std::optional<std::string_view> no_links_below) {
    std::vector<hl::Task<Result<files::Listing>>> listings;
    listings.reserve(names.size());
    for (const auto& name : names) listings.push_back(session.list(name, extended, no_links_below, &budget));
    auto all = hl::when_all(std::move(listings));
    std::vector<Result<files::Listing>> listed = co_await std::move(all);
    co_return listed;
}

hl::Task<std::vector<Result<files::Seen>>> look_each(files::Client& session, const std::vector<std::string>& names) {
    std::vector<Result<files::Seen>> seen;
    std::optional<Error> end;
    while (seen.size() < names.size() && !end) {
        const auto until = std::min(seen.size() + listed_at_once, names.size());
        std::vector<hl::Task<Result<files::Seen>>> looks;
        for (std::size_t i = seen.size(); i < until; ++i) looks.push_back(session.look(names[i]));
        auto all = hl::when_all(std::move(looks));
        std::vector<Result<files::Seen>> some = co_await std::move(all);
        for (auto& one : some) {
            if (!one && ends_all(one.code()) && !end) end = one.error();
            seen.push_back(std::move(one));
        }
    }
    if (end) seen.resize(names.size(), Result<files::Seen>(*end));
    co_return seen;
}

}  // namespace cinnabar::tools
