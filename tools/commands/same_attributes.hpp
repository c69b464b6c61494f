// SPDX-License-Identifier: BSD-3-Clause
// Compares permissions and times as the receiving side's file system holds them. One thread.
#pragma once

#include <cinnabar/files/attribute_precision.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/files/root.hpp>

#include <functional>
#include <optional>
#include <utility>

namespace cinnabar::tools {

class SameAttributes {
  public:
    // Calls `ask` at most once, and only if something differs, because on this side `ask` makes a temporary file.
    using Ask = std::function<files::AttributePrecision()>;
    explicit SameAttributes(Ask ask) : ask_(std::move(ask)) {}
    // Compares as the receiving side stores attributes: a server, whose `session` is open and must outlive this object.
    [[nodiscard]] static SameAttributes at(const files::Client& session) {
        return SameAttributes([&session] { return session.precision(); });
    }
    // The same for a folder of this side, which must outlive this object; null: a dry run without a target folder.
    [[nodiscard]] static SameAttributes in(const files::Root* into) {
        return SameAttributes([into] { return into ? into->probe_precision() : files::AttributePrecision(); });
    }

    [[nodiscard]] bool mode(const files::Attributes& a, const files::Attributes& b) const {
        return a.mode == b.mode || precision().same_mode(a, b);
    }
    [[nodiscard]] bool mode_and_time(const files::Attributes& a, const files::Attributes& b) const {
        return files::AttributePrecision().same_mode_and_time(a, b) || precision().same_mode_and_time(a, b);
    }

  private:
    [[nodiscard]] const files::AttributePrecision& precision() const {
        if (!known_) known_ = ask_();
        return *known_;
    }

    Ask ask_;
    mutable std::optional<files::AttributePrecision> known_;
};

}  // namespace cinnabar::tools
