// SPDX-License-Identifier: BSD-3-Clause
// Has the server make and remove many entries, in as few calls as their limits allow.
#include "session/batch.hpp"
#include "session/client_session.hpp"
#include "session/pack.hpp"
#include "session/remote_error.hpp"

#include <cinnabar/files/name.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

const std::string& batch_name(const NewEntry& entry) { return entry.name; }
const std::string& batch_name(const std::string& name) { return name; }
std::size_t text_of_one(const NewEntry& entry) { return batch_text(entry); }
std::size_t text_of_one(const std::string& name) { return name.size(); }
bool may_be_sent(const NewEntry& entry) {
    return entry.name.size() <= name_bytes_max && entry.target.size() <= name_bytes_max;
}
bool may_be_sent(const std::string& name) { return name.size() <= name_bytes_max; }

// The number of items at the beginning of the list that fit into one call. At least 1, even if the first item needs a
// call of its own.
template <typename Item>
std::size_t count_that_fits(std::span<const Item> items) {
    std::size_t count = 0;
    std::size_t text = 0;
    std::set<std::string_view> names;
    while (count < items.size() && count < batch_entries_max) {
        const auto& item = items[count];
        text += text_of_one(item);
        if (text > batch_text_bytes_max || !may_be_sent(item) || !names.insert(batch_name(item)).second) break;
        ++count;
    }
    return std::max<std::size_t>(count, 1);
}

// Adds the results of one call, which had `count` entries.
void add_results(std::vector<Result<void>>& results, std::size_t count, const Result<BatchOut>& out) {
    std::optional<Error> failure;
    if (!out) failure = out.error();
    if (out && out->outcomes.size() != count)
        failure = Error{Errc::protocol, "the server has answered for another number of entries than it was sent"};
    for (std::size_t i = 0; i < count; ++i) {
        if (failure) {
            results.emplace_back(*failure);
        } else if (out->outcomes[i].code == Errc::ok) {
            results.emplace_back();
        } else {
            results.emplace_back(from_outcome(out->outcomes[i]));
        }
    }
}

// Whether further calls would fail in the same way, so that the client would wait for them in vain.
bool ends_batch(Errc code) {
    return code == Errc::timed_out || code == Errc::canceled || code == Errc::peer_lost || code == Errc::closed;
}

}  // namespace

hl::Task<std::vector<Result<void>>> ClientSession::make_many(const std::vector<NewEntry>& entries) {
    std::vector<Result<void>> results;
    std::size_t alone = 0;  // this many entries, from the next one on, each get a call of their own
    while (results.size() < entries.size()) {
        const auto rest = std::span(entries).subspan(results.size());
        const auto count = alone > 0 ? std::size_t{1} : count_that_fits(rest);
        if (count > 1) {
            MakeManyIn in;
            in.entries.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
            const Pace::Pass pass = co_await packs_.take();
            seals_.stamp(in);
            Result<BatchOut> out = co_await node_.call(make_many_rpc, server_, in, commit_deadline);
            if (!out) out = from_remote(std::move(out).error());
            if (out.code() == Errc::overloaded) {
                alone = count;
            } else {
                add_results(results, count, out);
            }
            if (!out && ends_batch(out.code())) results.resize(entries.size(), Result<void>(out.error()));
        } else {
            const auto& entry = rest.front();
            MakeIn in{{}, entry.kind, entry.name, entry.target, entry.attributes, entry.replace};
            auto making = make(std::move(in));
            Result<void> made = co_await std::move(making);
            if (alone > 0) --alone;
            results.push_back(made);
            if (!made && ends_batch(made.code())) results.resize(entries.size(), made);
        }
    }
    co_return results;
}

hl::Task<std::vector<Result<void>>> ClientSession::remove_many(const std::vector<std::string>& names,
                                                               std::optional<std::string_view> no_links_below) {
    std::vector<Result<void>> results;
    std::size_t alone = 0;  // as above
    while (results.size() < names.size()) {
        const auto rest = std::span(names).subspan(results.size());
        const auto count = alone > 0 ? std::size_t{1} : count_that_fits(rest);
        if (count > 1) {
            RemoveManyIn in;
            in.names.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
            in.links = LinkLimit::of(no_links_below);
            const Pace::Pass pass = co_await packs_.take();
            seals_.stamp(in);
            Result<BatchOut> out = co_await node_.call(remove_many_rpc, server_, in, commit_deadline);
            if (!out) out = from_remote(std::move(out).error());
            if (out.code() == Errc::overloaded) {
                alone = count;
            } else {
                add_results(results, count, out);
            }
            if (!out && ends_batch(out.code())) results.resize(names.size(), Result<void>(out.error()));
        } else {
            Result<void> removed = co_await remove(rest.front(), no_links_below);
            if (alone > 0) --alone;
            results.push_back(removed);
            if (!removed && ends_batch(removed.code())) results.resize(names.size(), removed);
        }
    }
    co_return results;
}

}  // namespace cinnabar::files
