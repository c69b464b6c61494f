// SPDX-License-Identifier: BSD-3-Clause
// A process of a job of a PMIx launcher. Its argument says what it does; it exits with 0 if all is as expected.
#include "job.hpp"

#include <cinnabar/base/parse_number.hpp>
#include <cinnabar/group/pmix.hpp>

#include <pmix.h>

#include <string_view>

using namespace cinnabar;
using namespace cinnabar::test;

namespace {

group::Rank rank_of_environment() { return parse_number<group::Rank>(std::getenv("PMIX_RANK")).value(); }

// Two groups, one after the other, on one node. PMIx is not left initialized.
void two_groups(std::size_t size) {
    const Node node = listening();
    const auto job = sync_wait(group::exchange_by_pmix(node, options_for("first")));
    expect_code(job, Errc::ok, "exchange");
    expect(job->run == std::getenv("PMIX_NAMESPACE"), "the run is the namespace");
    expect(job->roster.addresses.size() == size, "the size of the job");
    expect(job->roster.addresses[rank_of_environment()] == node.address(), "the own address");
    const auto first = sync_wait(group::bootstrap_by_pmix(node, options_for("first")));
    expect_member(first, rank_of_environment(), size);
    const auto second = sync_wait(group::bootstrap_by_pmix(node, options_for("second", 1)));
    expect_member(second, rank_of_environment(), size);
    expect(PMIx_Initialized() == 0, "PMIx is finalized");
}

// One process does not come to the second exchange.
void one_is_missing(std::size_t size) {
    const Node node = listening();
    const auto group = sync_wait(group::bootstrap_by_pmix(node));
    expect_member(group, rank_of_environment(), size);
    group::GroupOptions options = options_for("other", 1);
    options.join_time = std::chrono::seconds(1);
    if (group->rank() != 1) {
        const auto failed = sync_wait(group::bootstrap_by_pmix(node, options));
        expect_code(failed, Errc::timed_out, "an exchange without one process");
        expect(PMIx_Initialized() == 0, "PMIx is finalized");
    }
    pass(*group, "end");
}

// One process has another name for the group.
void names_differ(std::size_t) {
    const Node node = listening();
    const std::string name = rank_of_environment() == 1 ? "other" : "same";
    const auto failed = sync_wait(group::exchange_by_pmix(node, options_for(name)));
    expect_code(failed, Errc::invalid_argument, "names that differ");
    // All the same, the next one works.
    expect_member(sync_wait(group::bootstrap_by_pmix(node)), rank_of_environment(), 4);
}

// The program has initialized PMIx for itself.
void initialized_before(std::size_t size) {
    pmix_proc_t self{};
    expect(PMIx_Init(&self, nullptr, 0) == PMIX_SUCCESS, "PMIx_Init");
    {
        const Node node = listening();
        expect_member(sync_wait(group::bootstrap_by_pmix(node)), self.rank, size);
    }
    expect(PMIx_Initialized() != 0, "PMIx is still initialized");
    expect(PMIx_Finalize(nullptr, 0) == PMIX_SUCCESS, "PMIx_Finalize");
}

void not_launched() {
    const Node node = listening();
    expect_code(sync_wait(group::bootstrap_by_pmix(node)), Errc::not_found, "without a launcher");
}

// A launcher whose server is gone.
void server_is_gone() {
    const Node node = listening();
    expect_code(sync_wait(group::bootstrap_by_pmix(node)), Errc::io, "without a server");
}

}  // namespace

int main(int count, char** arguments) {
    expect(count == 2, "one argument");
    const std::string_view what = arguments[1];
    constexpr std::size_t size = 4;
    if (what == "two_groups") {
        two_groups(size);
    } else if (what == "one_is_missing") {
        one_is_missing(size);
    } else if (what == "names_differ") {
        names_differ(size);
    } else if (what == "initialized_before") {
        initialized_before(size);
    } else if (what == "not_launched") {
        not_launched();
    } else if (what == "server_is_gone") {
        server_is_gone();
    } else {
        expect(false, "what to do");
    }
    return 0;
}
