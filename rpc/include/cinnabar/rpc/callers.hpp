// SPDX-License-Identifier: BSD-3-Clause
// Names for the other side of a connection, as rules use them.
//
//     key:NAME, cert:NAME  whoever has proven that key or certificate (tcps); a '*' at the end matches any ending
//     uid:N, gid:N         that user or group of this host, as the kernel reports it (shm)
//     proven               any key or certificate
//     local                any process whose user the kernel reports
//     dialled              a peer that this process dialled: calls back over that connection
//     anyone               everybody, including peers that have proven nothing
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

// A name for logs and accounts, as far as it is proven: "key:ann", "cert:ann", "uid:1000". Otherwise where the
// connection came from ("tcp://10.0.0.5:41234"), which address was dialled, or "own" for this process itself.
[[nodiscard]] CINNABAR_API std::string caller_name(const na::Addr& source);
// Whether it is this process, calling itself.
[[nodiscard]] CINNABAR_API bool is_own_process(const na::Addr& source) noexcept;

// A name or, with a '*' at the end, all names that begin with it.
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
    // Parses the words above. invalid_argument: a word is unknown, which is the subject, or the list is empty.
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
