// SPDX-License-Identifier: BSD-3-Clause
#include "save_server.hpp"

#include <utility>

namespace cinnabar::bench {

SaveServer::SaveServer(Cores cores, std::string tool, const std::filesystem::path& root)
    : tool_(std::move(tool)),
      daemon_({tool_, "serve", "--root", root.string(), "--insecure", "--listen", "tcp://127.0.0.1:0"}, cores.server),
      // "listening on tcp://127.0.0.1:40001"
      uri_(daemon_.first_line().substr(daemon_.first_line().find_last_of(' ') + 1)) {}

std::vector<std::string> SaveServer::save(const std::filesystem::path& source,
                                          const std::vector<std::string>& more) const {
    std::vector<std::string> words{tool_, "save", "--insecure"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {source.string(), uri_});
    return words;
}

std::vector<std::string> SaveServer::fetch(const std::string& name, const std::filesystem::path& to,
                                           const std::vector<std::string>& more) const {
    std::vector<std::string> words{tool_, "fetch", "--insecure"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"-o", to.string(), uri_ + '/' + name});
    return words;
}

std::string shell_line(const std::vector<std::string>& words) {
    std::string line;
    for (const auto& word : words) line += (line.empty() ? "'" : " '") + word + '\'';
    return line;
}

}  // namespace cinnabar::bench
