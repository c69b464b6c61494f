// SPDX-License-Identifier: BSD-3-Clause
// Why a type cannot travel is said where the contract is made, also when the fault lies deep inside.
#include <cinnabar/hl/rpc.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

struct Good {
    std::map<std::string, std::vector<int>> values;
};
constexpr cinnabar::hl::Rpc<int(Good)> take{"take"};

#ifdef CINNABAR_MUST_FAIL
struct Inner {
    std::string name;
    std::shared_ptr<int> value;
};
struct Bad {
    std::map<std::string, std::vector<Inner>> values;
};
constexpr cinnabar::hl::Rpc<int(Bad)> take_bad{"take_bad"};
#endif
