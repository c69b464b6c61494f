// SPDX-License-Identifier: BSD-3-Clause
// Table: the knowledge of one process about each rank, with the stamp of its view, digests that locate differences
// between two tables, and the latest changes. Tables that start with the same contents (in a simulation) share these
// contents.
#pragma once

#include "rank_map.hpp"
#include "swim/claim.hpp"

#include <cinnabar/base/export.hpp>
#include <cinnabar/group/view.hpp>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace cinnabar::group {

struct Entry {
    std::uint32_t incarnation = 0;  // 0: nothing is known of this rank
    std::uint32_t refutation = 0;
    State state = State::alive;
    std::uint64_t process = 0;
    Profile profile;

    [[nodiscard]] bool known() const noexcept { return incarnation != 0; }
    [[nodiscard]] bool present() const noexcept { return known() && is_present(state); }
};

class CINNABAR_API Table {
  public:
    static constexpr std::size_t buckets = 64;
    using Digests = std::array<std::uint64_t, buckets>;  // each over the ranks with the same remainder modulo `buckets`
    static constexpr std::size_t changes_kept = 256;

    // Returns an unknown entry if there is none.
    [[nodiscard]] const Entry& at(Rank rank) const noexcept;
    void put(Rank rank, Entry entry);
    // Moves this table's changes into the part that its copies share. changed_since() is then empty for the earlier
    // views of this table, which nobody knows.
    void share();

    [[nodiscard]] Rank end() const noexcept { return end_; }  // largest rank plus one
    [[nodiscard]] std::size_t known() const noexcept { return known_; }
    [[nodiscard]] std::size_t present() const noexcept { return present_; }
    [[nodiscard]] const Stamp& stamp() const noexcept { return stamp_; }
    [[nodiscard]] const Digests& digests() const noexcept { return digests_; }
    // The ranks that changed since the view had that stamp; empty if that is too long ago, or there was no such view.
    [[nodiscard]] std::optional<std::vector<Rank>> changed_since(const Stamp& stamp) const;
    [[nodiscard]] Claim claim(Rank rank, bool with_profile) const;

  private:
    void count(Rank rank, const Entry& entry, bool add) noexcept;

    std::shared_ptr<const std::vector<Entry>> shared_;
    RankMap<Entry> own_;
    Rank end_ = 0;
    std::size_t known_ = 0;
    std::size_t present_ = 0;
    Stamp stamp_;
    Digests digests_{};
    struct Changed {
        Stamp before;
        Rank rank;
    };
    std::deque<Changed> changes_;
};

}  // namespace cinnabar::group
