// SPDX-License-Identifier: BSD-3-Clause
// A group by PMIx, built against the installed tree, of a process that no launcher has started.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/pmix.hpp>

#include <cstdio>
#include <cstdlib>

int main() {
    ::unsetenv("PMIX_NAMESPACE");
    const auto node = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    const auto group = cinnabar::sync_wait(cinnabar::group::bootstrap_by_pmix(node));
    if (group) return 1;
    std::printf("%s\n", group.error().message().c_str());
    return group.code() == cinnabar::Errc::not_found ? 0 : 1;
}
