// SPDX-License-Identifier: BSD-3-Clause
// Nor does when_all hide it.
#include <cinnabar/cinnabar.hpp>

#include <string>

using namespace cinnabar;

struct Item {
    std::string name;
    int count;
};
constexpr Rpc<int(Item)> put{"put"};
constexpr Rpc<int(std::string)> echo{"echo"};

Task<void> send(const Node& node, const Addr& to) {
    const Item item{"a", 3};
#ifdef CINNABAR_MUST_FAIL
    (void)co_await when_all(node.call(put, to, Item{"a", 3}), node.call(put, to, item));
#else
    [[maybe_unused]] auto call = node.call(put, to, {"a", 3});
    (void)co_await when_all(node.call(put, to, item), node.call(put, to, item));
#endif
}
