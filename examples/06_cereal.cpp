// Types that know cereal travel as they are.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/cereal.hpp>

#include <cereal/types/string.hpp>

#include <iostream>
#include <string>

class Account {
  public:
    Account() = default;
    Account(std::string owner, long cents) : owner_(std::move(owner)), cents_(cents) {}
    template <class Archive>
    void serialize(Archive& archive) {
        archive(owner_, cents_);
    }
    void add(long cents) { cents_ += cents; }
    friend std::ostream& operator<<(std::ostream& out, const Account& a) { return out << a.owner_ << ": " << a.cents_; }

  private:
    std::string owner_;
    long cents_ = 0;
};
inline constexpr cinnabar::Rpc<Account(Account)> pay_interest{"pay_interest"};

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server
        .serve(pay_interest,
               [](Account account) {
                   account.add(250);
                   return account;
               })
        .value();
    auto client = cinnabar::Node::open("tcp://").value();
    auto peer = client.lookup(server.address()).value();
    std::cout << client.call_sync(pay_interest, peer, Account("ann", 10'000)).value() << '\n';
}
