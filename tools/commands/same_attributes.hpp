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
    // `ask` is called at most once, when something differs: on this side the answer takes a file that is made for a
    // moment.
    using Ask = std::function<files::AttributePrecision()>;
    explicit SameAttributes(Ask ask) : ask_(std::move(ask)) {}
    // Of a server, whose `session` is open, or of a folder of this side; both must outlive this object.
    [[nodiscard]] static SameAttributes at(const files::Client& session) {
        return SameAttributes([&session] { return session.precision(); });
    }
    // `into`: null for a dry run without a target folder, where nothing is compared.
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
