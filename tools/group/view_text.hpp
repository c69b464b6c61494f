// SPDX-License-Identifier: BSD-3-Clause
// Formats a group's view and its events, for people and as JSON. Text from other members is escaped. Pure.
#pragma once

#include <cinnabar/group/view.hpp>

#include <string>
#include <string_view>

namespace cinnabar::tools::group {

// Several lines, without the last newline.
[[nodiscard]] std::string view_text(std::string_view name, const cinnabar::group::View& view);
[[nodiscard]] std::string view_json(std::string_view name, const cinnabar::group::View& view);

[[nodiscard]] std::string event_text(const cinnabar::group::Event& event);
[[nodiscard]] std::string event_json(const cinnabar::group::Event& event);

}  // namespace cinnabar::tools::group
