// SPDX-License-Identifier: BSD-3-Clause
#include "beside_mercury.hpp"

namespace cinnabar::bench {

Figure beside_mercury(const std::string& name, const char* unit, double scale, Metric metric, Bar bar,
                      const MercuryShape& shape, const MakeSubject& ours) {
    const Contest contest{name + ".mercury", unit, scale, metric, bar, name_of(shape.tool)};
    return {contest.name, [=](const Settings& settings) {
                auto effort = settings.effort;
                effort.rounds_min = settings.quick ? 3 : 8;
                const auto make = [&] {
                    return make_mercury(settings.cores, shape.wire, shape.tool, shape.bytes, shape.in_flight);
                };
                const auto theirs = make();
                const auto again = make();
                const auto mine = ours(settings);
                return std::vector{row_of(contest, compare(*mine, *theirs, *again, metric, effort))};
            }};
}

}  // namespace cinnabar::bench
