// SPDX-License-Identifier: BSD-3-Clause
// A class that hides its fields has to say which they are.
#include <cinnabar/rpc/proc.hpp>

class Account {
  public:
    Account() = default;
    explicit Account(int id) : id_(id) {}

  private:
    int id_ = 0;
#ifndef CINNABAR_MUST_FAIL
    friend auto proc_fields(Account& account) { return std::tie(account.id_); }
#endif
};

cinnabar::Errc use(cinnabar::ConstBytes in, Account& account) { return cinnabar::rpc::decode(in, account); }
