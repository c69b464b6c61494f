// SPDX-License-Identifier: BSD-3-Clause
#include "credit_cost.hpp"

#include "callgrind.hpp"

#include <fstream>
#include <map>
#include <regex>
#include <vector>

namespace cinnabar::counts {
namespace {

constexpr unsigned long calls_few = 500;
constexpr unsigned long calls_many = 1500;

// The lines of rpc that mention the credit accounts.
class AccountLines {
  public:
    [[nodiscard]] bool contain(const std::string& file, unsigned line) {
        const std::size_t at = file.find("/rpc/src/");
        if (at == std::string::npos) return false;
        const std::vector<bool>& marked = lines_of(file.substr(at));
        return line < marked.size() && marked[line];
    }

  private:
    const std::vector<bool>& lines_of(const std::string& file) {
        const auto [found, fresh] = files_.try_emplace(file);
        if (!fresh) return found->second;
        found->second.push_back(false);  // line numbers begin with 1
        std::ifstream source(CINNABAR_SOURCE + file);
        for (std::string text; std::getline(source, text);) {
            found->second.push_back(std::regex_search(text, account_));
        }
        return found->second;
    }

    const std::regex account_{
        "credit|account|granted|returnable|budget|unsent|\\b(came_|over_|begun_|left_)\\b|replies_pending|"
        "replies_kept|starv|settle_reply"};
    std::map<std::string, std::vector<bool>> files_;
};

unsigned long cost(const std::string& scheme, unsigned long calls, AccountLines& accounts) {
    unsigned long sum = 0;
    const auto see = [&](const std::string& file, unsigned line, unsigned long taken) {
        if (accounts.contain(file, line)) sum += taken;
    };
    const std::string command = CINNABAR_CALL_LOOP " " + scheme + " " + std::to_string(calls) + " 1";
    return instructions_by_line(command, see) ? sum : 0;
}

}  // namespace

unsigned long credit_cost(const std::string& scheme) {
    AccountLines accounts;
    const unsigned long few = cost(scheme, calls_few, accounts);
    const unsigned long many = cost(scheme, calls_many, accounts);
    return many > few ? (many - few) / (calls_many - calls_few) / 2 : 0;
}

}  // namespace cinnabar::counts
