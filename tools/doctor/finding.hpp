// SPDX-License-Identifier: BSD-3-Clause
// The results of the doctor's checks: each has an id for scripts, a sentence, and a remedy.
#pragma once

#include "terminal/exit_code.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools::doctor {

enum class Severity : std::uint8_t {
    good,     // as it should be
    note,     // worth knowing, but harmless
    warning,  // works, but slower or with lower limits than possible
    problem,  // something does not work
};
[[nodiscard]] std::string_view to_string(Severity severity) noexcept;

struct Finding {
    std::string id;  // for example "locked-memory"; stable across versions
    Severity severity = Severity::good;
    std::string what;
    std::string remedy;            // a command if possible; empty for Severity::good
    ExitCode exit = ExitCode::ok;  // exit code of a problem or a warning
};

class Findings {
  public:
    void good(std::string id, std::string what);
    void note(std::string id, std::string what, std::string remedy = {});
    void warning(std::string id, ExitCode exit, std::string what, std::string remedy);
    void problem(std::string id, ExitCode exit, std::string what, std::string remedy);

    [[nodiscard]] const std::vector<Finding>& all() const noexcept { return all_; }
    // Null: there is no finding with this id.
    [[nodiscard]] const Finding* find(std::string_view id) const noexcept;
    // The exit code of the first problem; if there is none and `strict`, that of the first warning.
    [[nodiscard]] ExitCode exit(bool strict) const noexcept;

  private:
    std::vector<Finding> all_;
};

}  // namespace cinnabar::tools::doctor
