// SPDX-License-Identifier: BSD-3-Clause
// Names of callers, as used in rules.
//
//     key:NAME, cert:NAME  a caller that has proven this key or certificate (tcps, ofis, verbss); NAME*: any ending
//     uid:N, gid:N         a process of this user or group on this host, as reported by the kernel (shm)
//     proven               a caller that has proven any key or certificate
//     local                a process whose user the kernel reports
//     dialled              a peer that this process dialled: for calls back over that connection
//     anyone               every caller, including those that have proven nothing
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::rpc {

// The name of a caller for logs and accounts. If the caller's identity is proven: "key:ann", "cert:ann", "uid:1000".
// Otherwise the address from which the connection came ("tcp://10.0.0.5:41234"), or the address that was dialled.
// "own": this process.
[[nodiscard]] CINNABAR_API std::string caller_name(const na::Addr& source);
// Whether the caller is this process itself.
[[nodiscard]] CINNABAR_API bool is_own_process(const na::Addr& source) noexcept;

// Matches one name, or, with a '*' at the end, all names that begin with the text before it.
class CINNABAR_API NamePattern {
  public:
    explicit NamePattern(std::string_view pattern);
    [[nodiscard]] bool matches(std::string_view name) const noexcept {
        return prefix_ ? name.starts_with(text_) : name == text_;
    }

  private:
    std::string text_;
    bool prefix_;
};

class CINNABAR_API Callers {
  public:
    // Parses the words listed above. invalid_argument: the list is empty, or a word is unknown (the word is the subject
    // of the error).
    [[nodiscard]] static Result<Callers> of(std::span<const std::string> words);
    // Any thread.
    [[nodiscard]] bool include(const na::Addr& source) const noexcept;

  private:
    enum class Kind : std::uint8_t { key, certificate, user, group, proven, local, dialled, anyone };
    struct Word {
        std::string_view text;
        Kind kind;
    };
    struct Pattern {
        Kind kind;
        NamePattern name;
        std::uint32_t number = 0;
    };
    static const Word words[8];
    [[nodiscard]] static bool matches(const Pattern& pattern, const na::Addr& source) noexcept;

    std::vector<Pattern> patterns_;
};

}  // namespace cinnabar::rpc
