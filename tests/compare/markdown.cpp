// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"

#include <fmt/format.h>

namespace cinnabar::compare {
namespace {

std::string head(const Report& report) {
    return fmt::format(
        "# Beside others\n\n"
        "`./dev compare` made this page, and `build/compare.html` with plots, of commit {} on {}:\n{}.\n"
        "The programs of a round work one after the other, {} s each, in {} rounds, the server on one core and the "
        "client\n"
        "on another, each with a fresh server. A ratio is that of the best of ours over the other one in the same "
        "round:\n"
        "the median, and its 95 % interval. More than 1: ours is faster. Ratios carry over to other machines, figures "
        "do "
        "not.\nThe machine's limit is what bare system calls reach; ours over it is the share of that which is "
        "used.\n\n",
        report.commit, report.date, report.machine, report.seconds, report.rounds);
}

std::string losses(const Report& report) {
    std::string text = "## Where others are faster\n\n";
    const auto found = leads(report);
    if (found.empty()) return text + "Nowhere in this run.\n\n";
    text += "| work | who | ours over it |\n|---|---|---|\n";
    for (const Lead& lead : found) {
        text += fmt::format("| {} | {} | {} |\n", lead.work->work.title, lead.contender->contender.name,
                            ratio_text(*lead.contender));
    }
    return text + '\n';
}

std::string table_of(const Compared& work) {
    std::string text =
        fmt::format("## {}\n\n| who | version | figure | ours over it | |\n|---|---|---|---|---|\n", work.work.title);
    for (const Measured& each : work.measured) {
        text += fmt::format("| {} | {} | {} | {} | {} |\n", each.contender.name, each.contender.version,
                            figure_text(each, work.work.unit), each.contender.is_ours ? "" : ratio_text(each),
                            each.failure.empty() ? each.contender.remark : "it failed in this run");
    }
    if (!work.work.missing.empty())
        text += fmt::format("\nNot installed where this was measured: {}.\n", work.work.missing);
    return text + '\n';
}

std::string commands_of(const Compared& work) {
    std::string text;
    for (const Measured& each : work.measured) {
        text += fmt::format("{}, {}\n", work.work.name, each.contender.name);
        if (!each.contender.server.empty()) text += fmt::format("  server: {}\n", each.contender.server);
        text += fmt::format("  client: {}\n", each.contender.client);
    }
    return text;
}

}  // namespace

std::string to_markdown(const Report& report) {
    std::string text = head(report) + losses(report);
    for (const Compared& work : report.works) text += table_of(work);
    text +=
        "## What was run\n\n`@PORT@` is a free port, `@DIR@` an empty folder on tmpfs, `@COUNT@` what fills a "
        "slice.\n\n"
        "```text\n";
    for (const Compared& work : report.works) text += commands_of(work);
    return text + "```\n";
}

}  // namespace cinnabar::compare
