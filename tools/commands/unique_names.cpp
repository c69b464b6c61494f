// SPDX-License-Identifier: BSD-3-Clause
#include "commands/unique_names.hpp"

#include "terminal/report.hpp"

#include <cinnabar/base/printable.hpp>

namespace cinnabar::tools {

bool UniqueNames::add(std::string_view name, const std::string& source) {
    const auto [other, fresh] = source_by_name_.try_emplace(std::string(name), source);
    if (fresh) return true;
    complain(printable(other->second) + " and " + printable(source) + " would both become " + printable(name) + ": " +
             std::string(advice_));
    return false;
}

}  // namespace cinnabar::tools
