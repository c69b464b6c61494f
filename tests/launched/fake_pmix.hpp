// SPDX-License-Identifier: BSD-3-Clause
// A PMIx that is made up: the functions of libpmix that cinnabar::pmix calls, in this program, so that they can fail.
#pragma once

#include <pmix.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::test {

struct FakePmix {
    pmix_status_t init = PMIX_SUCCESS;
    pmix_status_t put = PMIX_SUCCESS;
    pmix_status_t commit = PMIX_SUCCESS;
    pmix_status_t fence = PMIX_SUCCESS;                  // what the call returns
    std::optional<pmix_status_t> fenced = PMIX_SUCCESS;  // what is reported later; empty: nothing ever is
    unsigned fences_spoiled = 0;  // so many report that a process was missing, before `fenced` is reported
    pmix_status_t get = PMIX_SUCCESS;
    pmix_rank_t rank = 1;
    std::optional<std::uint32_t> size = 3;
    // Of the other processes, whatever the key is; empty: there is none.
    std::map<pmix_rank_t, std::string> others{{0, "tcp://127.0.0.1:1"}, {2, "tcp://127.0.0.1:3"}};
    bool texts_are_numbers = false;

    int open = 0;                   // how often PMIx is initialized
    int limit = 0;                  // seconds, of the last fence
    std::vector<std::string> keys;  // put by this process
    std::string text;
};

// What the functions use. Replaced by each test, while none of them runs.
FakePmix& fake_pmix();

}  // namespace cinnabar::test
