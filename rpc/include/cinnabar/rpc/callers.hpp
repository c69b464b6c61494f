// SPDX-License-Identifier: BSD-3-Clause
// Who is at the other side of a connection, as rules name it.
//
//     key:NAME, cert:NAME  who has proven that key or certificate (tcps); a '*' at the end stands for any ending
//     uid:N, gid:N         the user or group of a process of this host, as the kernel tells it (shm)
//     proven               any key or certificate
//     local                any process of which the kernel tells the user
//     dialled              whoever was dialled from here: calls back over that connection
//     anyone               also who has proven nothing
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

// As far as it is proven, for logs and accounts: "key:ann", "cert:ann", "uid:1000"; else where the connection came from
// ("tcp://10.0.0.5:41234"), what was dialled, or "own" for this process itself.
[[nodiscard]] CINNABAR_API std::string caller_name(const na::Addr& source);
// This process, by its own connection.
[[nodiscard]] CINNABAR_API bool is_own_process(const na::Addr& source) noexcept;

// A name, or with a '*' at the end all names that begin so.
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
    // In the words above. invalid_argument: one of them is none, which is the subject, or there is none at all.
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
