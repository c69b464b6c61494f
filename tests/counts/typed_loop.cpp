// SPDX-License-Identifier: BSD-3-Clause
// typed_loop SCHEME CALLS IN_FLIGHT [on_arrival] [timed=N] [traced=N] [limit=N]: small typed calls from tasks between
// two nodes on one thread, and nothing else. call_instructions_test counts its instructions. timed:
// NodeOptions::timed_one_in. traced: both nodes write a trace file to /dev/null, and one call in N begins a trace;
// limit: but N a second at most.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/trace_file.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace {

using Words = std::array<std::uint64_t, 8>;

constexpr cinnabar::Rpc<Words(Words)> echo{"typed_loop.echo"};
constexpr std::chrono::seconds call_time{60};

cinnabar::Task<void> one_after_the_other(cinnabar::NodeRef node, cinnabar::Addr peer, unsigned long& left,
                                         unsigned long& ended) {
    while (left > 0) {
        --left;
        const auto echoed = co_await node.call(echo, peer, Words{1, 2, 3}, call_time);
        if (!echoed) std::abort();
        ++ended;
    }
}

// N of the word "NAME=N", which is taken out of `words`; empty if there is none.
std::optional<std::uint32_t> take_number(std::vector<std::string>& words, const std::string& name) {
    const auto at = std::find_if(words.begin(), words.end(), [&](const auto& word) { return word.starts_with(name); });
    if (at == words.end()) return {};
    const auto number = static_cast<std::uint32_t>(std::stoul(at->substr(name.size())));
    words.erase(at);
    return number;
}

}  // namespace

int main(int count, char** words) {
    std::vector<std::string> more(words + std::min(count, 4), words + count);
    const auto timed = take_number(more, "timed=");
    const auto traced = take_number(more, "traced=");
    const auto limit = take_number(more, "limit=");
    const bool arriving = std::erase(more, "on_arrival") != 0;
    if (count < 4 || !more.empty()) {
        std::fprintf(stderr, "typed_loop SCHEME CALLS IN_FLIGHT [on_arrival] [timed=N] [traced=N] [limit=N]\n");
        return 2;
    }
    const std::string scheme = words[1];
    const unsigned long calls = std::strtoul(words[2], nullptr, 10);
    const unsigned long in_flight = std::strtoul(words[3], nullptr, 10);

    cinnabar::NodeOptions options;
    options.progress_thread = false;
    if (timed) options.timed_one_in = *timed;
    if (traced) {
        const cinnabar::hl::SpanExporterOptions traces{
            .one_in = *traced, .traces_per_second = limit.value_or(0), .requests_per_second = 0};
        options.tracer = cinnabar::hl::TraceFile::make("/dev/null", traces).value();
    }
    auto server = cinnabar::Node::listen(scheme + (scheme == "tcp" ? "://127.0.0.1:0" : "://"), options).value();
    const auto same = [](Words input) { return input; };
    (arriving ? server.serve(echo, same, cinnabar::on_arrival) : server.serve(echo, same)).value();
    auto client = cinnabar::Node::open(scheme + "://", options).value();
    const auto peer = client.lookup(server.address()).value();

    unsigned long left = calls;
    unsigned long ended = 0;
    for (unsigned long i = 0; i < in_flight; ++i) {
        if (client.spawn(one_after_the_other(client, peer, left, ended)) != cinnabar::Errc::ok) std::abort();
    }
    while (ended < calls) {
        client.poll();
        server.poll();
    }
    return 0;
}
