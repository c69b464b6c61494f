// SPDX-License-Identifier: BSD-3-Clause
// Chains of letters that were taken from a mailbox and are delivered one by one. Owner of the context only.
#pragma once

#include "mailbox.hpp"

#include <utility>

namespace cinnabar::self_ {

class LetterQueue {
  public:
    [[nodiscard]] bool empty() const noexcept { return !chain_ && chains_.empty(); }
    void take_all(Mailbox& mailbox) noexcept {
        if (mailbox.empty()) return;
        WorkQueue taken = mailbox.take_all();
        chains_.splice_back(taken);
    }
    // Null: there is none.
    [[nodiscard]] Letter* next() noexcept {
        Letter* letter = chain_;
        if (!letter) letter = static_cast<Letter*>(chains_.pop_front());
        if (letter) chain_ = std::exchange(letter->rest, nullptr);
        return letter;
    }

  private:
    WorkQueue chains_;
    Letter* chain_ = nullptr;  // the rest of the chain that is being delivered
};

}  // namespace cinnabar::self_
