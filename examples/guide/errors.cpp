// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "Errors".
#include <cinnabar/cinnabar.hpp>

#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

using namespace cinnabar;

struct Transfer {
    std::string from, to;
    std::int64_t cents = 0;
};
inline constexpr Rpc<std::int64_t(Transfer)> transfer{"bank.transfer"};
inline constexpr Rpc<void()> audit{"bank.audit"};

// Part of the contract: what app_code may be.
enum BankError : std::uint32_t { no_such_account = 1, too_little_money = 2 };

using Accounts = std::map<std::string, std::int64_t>;

Result<std::int64_t> move_money(Accounts& accounts, const Transfer& order) {
    const auto from = accounts.find(order.from);
    const auto to = accounts.find(order.to);
    if (from == accounts.end() || to == accounts.end()) return app_error(no_such_account);
    if (from->second < order.cents) return app_error(too_little_money, "only " + std::to_string(from->second));
    from->second -= order.cents;
    to->second += order.cents;
    return from->second;
}

// What is left after two transfers; ends with the error of the first that fails.
Result<std::int64_t> pay_twice(NodeRef node, const Addr& bank, std::int64_t cents) {
    CINNABAR_TRY(const std::int64_t after_one, node.call(transfer, bank, {"ann", "bob", cents}).wait());
    CINNABAR_TRY(const std::int64_t after_two, node.call(transfer, bank, {"ann", "bob", cents}).wait());
    std::cout << "left: " << after_one << ", then " << after_two << '\n';
    return after_two;
}

int main() {
    auto server = Node::listen("tcp://127.0.0.1:0").value();
    Accounts accounts{{"ann", 1000}, {"bob", 0}};
    server.serve(transfer, [&accounts](const Transfer& order) { return move_money(accounts, order); }).value();
    server.serve(audit, [] { throw std::runtime_error("the books are locked"); }).value();
    auto [client, bank] = Node::connect(server.address()).value();

    (void)pay_twice(client, bank, 400);
    auto moved = client.call(transfer, bank, {"ann", "bob", 400}).wait();
    if (moved) {
        std::cout << "ann has " << *moved << " left\n";
    } else if (moved.error().app_code == too_little_money) {
        std::cout << "too little money: " << moved.error().subject << '\n';
    } else {
        std::cout << moved.error().message() << '\n';
    }

    std::cout << "audit: " << to_string(client.call(audit, bank).wait().code()) << '\n';
    auto wrong = Node::listen("tcp://127.0.0.1:99999");
    std::cout << "a port that cannot be: " << to_string(wrong.code()) << '\n';
}
