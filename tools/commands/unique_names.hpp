// SPDX-License-Identifier: BSD-3-Clause
// The names that a command's sources get on the receiving side; no two may be equal. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace cinnabar::tools {

class UniqueNames {
  public:
    // `advice`: what to do about two sources with one name. Static storage.
    explicit UniqueNames(std::string_view advice) : advice_(advice) {}

    // False: another source has that name, which was reported.
    [[nodiscard]] bool add(std::string_view name, const std::string& source);

  private:
    const std::string_view advice_;
    std::map<std::string, std::string, std::less<>> source_by_name_;
};

}  // namespace cinnabar::tools
