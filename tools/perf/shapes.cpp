// SPDX-License-Identifier: BSD-3-Clause
#include "perf/shapes.hpp"

#include "perf/interval.hpp"

#include <algorithm>
#include <cmath>

namespace cinnabar::tools::perf {
namespace {

constexpr std::uint32_t open_depth = 16'384;  // calls of an open loop that may be in flight at once

// Combines every shape with every value.
template <typename Shape, typename Value, typename Set>
void combine(std::vector<Shape>& shapes, const std::vector<Value>& values, Set set) {
    std::vector<Shape> all;
    for (const Shape& shape : shapes) {
        for (const Value& value : values) {
            all.push_back(shape);
            set(all.back(), value);
        }
    }
    shapes = std::move(all);
}

}  // namespace

std::vector<CallShape> shapes_of(const CallsOptions& options) {
    std::vector<CallShape> shapes(1);
    shapes[0].arrivals = options.arrivals;
    shapes[0].depth = options.rates.empty() ? 1 : open_depth;
    combine(shapes, options.sizes, [](auto& shape, auto size) { shape.payload_bytes = size; });
    combine(shapes, options.clients, [](auto& shape, auto clients) { shape.clients = clients; });
    combine(shapes, options.contexts, [](auto& shape, auto contexts) { shape.contexts = contexts; });
    combine(shapes, options.threads, [](auto& shape, auto threads) { shape.threads = threads; });
    if (!options.depths.empty()) combine(shapes, options.depths, [](auto& shape, auto depth) { shape.depth = depth; });
    if (!options.rates.empty()) combine(shapes, options.rates, [](auto& shape, auto rate) { shape.rate = rate; });
    return shapes;
}

std::vector<CallShape> steps_of(const CallsOptions& options, const std::vector<CallResult>& closed) {
    const CallResult* best = nullptr;
    for (const auto& row : closed) {
        if (row.shape.rate > 0 || row.outcomes.done == 0) continue;
        if (!best || interval_of(row.rates).mean > interval_of(best->rates).mean) best = &row;
    }
    std::vector<CallShape> shapes;
    if (!best || !options.rates.empty()) return shapes;
    for (const double percent : options.steps_percent) {
        shapes.push_back(best->shape);
        shapes.back().depth = open_depth;
        shapes.back().arrivals = options.arrivals;
        shapes.back().rate = std::max(1.0, std::floor(interval_of(best->rates).mean * percent / 100));
    }
    return shapes;
}

std::vector<BulkShape> shapes_of(const BulkOptions& options) {
    std::vector<BulkShape> shapes(1);
    combine(shapes, options.memories, [](auto& shape, auto memory) { shape.memory = memory; });
    combine(shapes, options.directions, [](auto& shape, auto direction) { shape.direction = direction; });
    combine(shapes, options.segments, [](auto& shape, auto segments) { shape.segments = segments; });
    combine(shapes, options.depths, [](auto& shape, auto depth) { shape.depth = depth; });
    combine(shapes, options.sizes, [](auto& shape, auto size) { shape.bytes = size; });
    return shapes;
}

}  // namespace cinnabar::tools::perf
