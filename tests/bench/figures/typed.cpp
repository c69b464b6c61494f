// SPDX-License-Identifier: BSD-3-Clause
// The cost of each kind of handler, compared with a plain function on the loop; all are typed calls.
#include "../ours/typed.hpp"

#include "figures.hpp"

namespace cinnabar::bench {
namespace {

constexpr std::size_t in_flight = 64;

Figure against_plain(const std::string& name, Wire wire, Handler handler, double bar) {
    const Contest contest{name, "kcalls/s", 1e-3, Metric::work_per_second, Bar{Sense::at_least, bar}, "plain function"};
    return {name, [contest, wire, handler](const Settings& settings) -> std::vector<Row> {
                const auto make = [wire](Handler kind) {
                    return [wire, kind](const Settings& s) { return make_typed_calls(s.cores, wire, kind, in_flight); };
                };
                return {run_contest(contest, make(handler), make(Handler::plain), settings)};
            }};
}

}  // namespace

std::vector<Figure> typed_figures() {
    return {against_plain("hl.coroutine.rate.64.tcp", Wire::tcp, Handler::coroutine, 0.9),
            against_plain("hl.coroutine.rate.64.shm", Wire::shm, Handler::coroutine, 0.9),
            against_plain("hl.pool.rate.64.tcp", Wire::tcp, Handler::pooled, 0.5),
            against_plain("hl.pool.rate.64.shm", Wire::shm, Handler::pooled, 0.5),
            against_plain("hl.strings.rate.64.tcp", Wire::tcp, Handler::strings, 0.85),
            against_plain("hl.strings.rate.64.shm", Wire::shm, Handler::strings, 0.85)};
}

}  // namespace cinnabar::bench
