// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/file_error.hpp>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <sstream>

namespace cinnabar::tools::launch {
namespace {

constexpr std::uint32_t slots_max = 65'536;

struct Host {
    std::string name;
    std::uint32_t slots = 1;
};

Result<Host> host_in(const std::string& line) {
    constexpr std::string_view key = "slots=";
    const Error none(Errc::invalid_argument, "a line is HOST [slots=N]", printable(line));
    std::istringstream words(line);
    Host host;
    std::string slots;
    std::string more;
    words >> host.name >> slots >> more;
    if (host.name.starts_with('-') || !more.empty()) return none;  // it must not look like an option to ssh
    if (slots.empty()) return host;
    if (!slots.starts_with(key)) return none;
    const char* const end = slots.data() + slots.size();
    const auto read = std::from_chars(slots.data() + key.size(), end, host.slots);
    if (read.ec != std::errc() || read.ptr != end || host.slots == 0 || host.slots > slots_max) return none;
    return host;
}

}  // namespace

Result<std::vector<std::string>> read_hosts(const std::string& path, std::uint32_t size) {
    errno = 0;
    std::ifstream file(path);
    if (!file) return files::file_error(errno != 0 ? errno : EIO, "cannot read the hosts", path);
    std::vector<Host> hosts;
    for (std::string line; std::getline(file, line);) {
        if (line.find_first_not_of(" \t\r") == std::string::npos || line.starts_with('#')) continue;
        CINNABAR_TRY(Host host, host_in(line));
        hosts.push_back(std::move(host));
    }
    if (hosts.empty()) return Error(Errc::invalid_argument, "the file names no host", path);
    std::vector<std::string> of_ranks;
    while (of_ranks.size() < size) {
        for (const Host& host : hosts) {
            for (std::uint32_t slot = 0; slot < host.slots && of_ranks.size() < size; ++slot)
                of_ranks.push_back(host.name);
        }
    }
    return of_ranks;
}

std::string shell_word(std::string_view word) {
    std::string text = "'";
    for (const char c : word) {
        if (c == '\'')
            text += "'\\''";
        else
            text += c;
    }
    return text + "'";
}

std::vector<std::string> remote_command(const std::string& host, const std::string& folder,
                                        const std::vector<std::string>& variables,
                                        const std::vector<std::string>& program) {
    // A shell gives background processes no stdin, so signal names are read from descriptor 3.
    std::string script = "cd " + shell_word(folder) + " 2>/dev/null; exec 3<&0; env";
    const auto add = [&script](const std::string& word) {
        script += ' ';
        script += shell_word(word);
    };
    for (const auto& variable : variables) add(variable);
    for (const auto& word : program) add(word);
    script +=
        " </dev/null 3<&- & p=$!; "
        "(while read -r s <&3; do kill -s \"$s\" $p; done; kill -s TERM $p) >/dev/null 2>&1 & r=$!; "
        "exec 3<&- </dev/null; wait $p; c=$?; kill $r 2>/dev/null; exit $c";
    return {"ssh", "-o", "BatchMode=yes", host, script};
}

}  // namespace cinnabar::tools::launch
