// SPDX-License-Identifier: BSD-3-Clause
// Figures of remote memory: single words compared with the bare ring, lists of blocks compared with contiguous memory,
// and pulls with checksums.
#include "../ours/checked.hpp"
#include "../ours/one_sided.hpp"
#include "../ours/ours.hpp"
#include "../ours/posts.hpp"
#include "figures.hpp"

namespace cinnabar::bench {
namespace {

// The bytes of a request (header and arguments of an 8-byte read) and of its reply.
constexpr FrameBytes frame{112, 32};
constexpr std::uint64_t block_bytes = 4096;

Figure word_figure(const std::string& name, WordKind kind) {
    const Contest contest{name, "us", 1e6, Metric::seconds_per_work, Bar{Sense::at_most, 1.5}, "ring ping-pong"};
    return {name, [=](const Settings& settings) -> std::vector<Row> {
                return {run_contest(
                    contest, [kind](const Settings& s) { return make_word_operations(s.cores, kind); },
                    [](const Settings& s) { return make_ring_ping_pong(s.cores, frame); }, settings)};
            }};
}

std::vector<Row> run_post(const Settings& settings) {
    const PostCost cost = measure_posts(List::strided, settings.quick ? 20 : 100);
    std::vector<Row> rows{count_row("descriptors.post", cost.us, "us", 1000),
                          count_row("descriptors.post.wire", cost.wire_bytes, "bytes", 1024)};
    Contest contest{"descriptors.post.bulk.tcp", "MB/s",      1e-6, Metric::work_per_second,
                    Bar{Sense::at_least, 0.90},  "contiguous"};
    for (const Wire wire : {Wire::tcp, Wire::shm}) {
        const auto reads = [wire](std::uint64_t gap) {
            return [wire, gap](const Settings& s) { return make_block_reads(s.cores, wire, gap); };
        };
        rows.push_back(run_contest(contest, reads(block_bytes), reads(0), settings));
        contest.name = "descriptors.post.bulk.shm";
    }
    return rows;
}

std::vector<Row> run_random(const Settings& settings) {
    const PostCost cost = measure_posts(List::random, settings.quick ? 20 : 100);
    return {count_row("descriptors.random", cost.wire_bytes / 15'000, "bytes per block", 4),
            count_row("descriptors.random.post", cost.us, "us", 1000)};
}

std::vector<Row> run_checksum(const Settings& settings) {
    const Contest contest{"chunk.checksum",           "MB/s",   1e-6, Metric::work_per_second,
                          Bar{Sense::at_least, 0.90}, "without"};
    const auto pulls = [](bool sums) { return [sums](const Settings& s) { return make_pulls(s.cores, sums); }; };
    return {run_contest(contest, pulls(true), pulls(false), settings)};
}

}  // namespace

std::vector<Figure> remote_figures() {
    return {word_figure("one_sided.read.8", WordKind::read),
            word_figure("one_sided.write.8", WordKind::write),
            word_figure("one_sided.fetch_add", WordKind::fetch_add),
            {"descriptors.post", run_post},
            {"descriptors.random", run_random},
            {"chunk.checksum", run_checksum}};
}

}  // namespace cinnabar::bench
