// SPDX-License-Identifier: BSD-3-Clause
// What the doctor found: each with a word for scripts, a sentence, and what to do about it.
#pragma once

#include "terminal/exit_code.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools::doctor {

enum class Severity : std::uint8_t {
    good,     // as it should be
    note,     // worth knowing; nothing suffers
    warning,  // works, but slower, or with less than could be
    problem,  // something does not work
};
[[nodiscard]] std::string_view to_string(Severity severity) noexcept;

struct Finding {
    std::string id;  // "locked-memory"; stays the same from version to version
    Severity severity = Severity::good;
    std::string what;
    std::string remedy;            // a command where there is one; empty for what is good
    ExitCode exit = ExitCode::ok;  // of a problem or a warning
};

class Findings {
  public:
    void good(std::string id, std::string what);
    void note(std::string id, std::string what, std::string remedy = {});
    void warning(std::string id, ExitCode exit, std::string what, std::string remedy);
    void problem(std::string id, ExitCode exit, std::string what, std::string remedy);

    [[nodiscard]] const std::vector<Finding>& all() const noexcept { return all_; }
    // Null: there is no such one.
    [[nodiscard]] const Finding* find(std::string_view id) const noexcept;
    // That of the first problem; if `strict`, of the first warning where there is no problem.
    [[nodiscard]] ExitCode exit(bool strict) const noexcept;

  private:
    std::vector<Finding> all_;
};

}  // namespace cinnabar::tools::doctor
