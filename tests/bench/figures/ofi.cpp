// SPDX-License-Identifier: BSD-3-Clause
// Calls and bulk over libfabric, compared with programs of bare libfabric on the same provider.
#include "../limits/fabric.hpp"
#include "../ours/ours.hpp"
#include "beside_mercury.hpp"
#include "figures.hpp"

namespace cinnabar::bench {
namespace {

constexpr std::size_t payload_bytes = 64;
constexpr std::size_t mebibyte = 1 << 20;
constexpr std::size_t buffers = 8;
constexpr std::size_t many = 64;

// The sizes of the provider's messages: with the header of the ofi plugin's frames, and with those of requests and
// replies (docs/wire-format.md).
constexpr std::size_t plugin_header_bytes = 24;
constexpr FrameBytes frame{plugin_header_bytes + 32 + payload_bytes, plugin_header_bytes + 16 + payload_bytes};

struct Place {
    Wire wire;
    Fabric fabric;
};
constexpr Place tcp_rxm{Wire::ofi_tcp_rxm, Fabric::tcp_rxm};
constexpr Place shm{Wire::ofi_shm, Fabric::shm};

MakeSubject our_calls(Place place, std::size_t in_flight) {
    return [=](const Settings& s) { return make_our_rpc(s.cores, {payload_bytes, in_flight, false, place.wire}); };
}

MakeSubject our_pull(Place place) {
    return [=](const Settings& s) {
        return make_our_bulk(s.cores, {Direction::to_client, mebibyte, 1, buffers, place.wire});
    };
}

Figure against(const Contest& contest, const MakeSubject& ours, const MakeSubject& limit) {
    return {contest.name,
            [=](const Settings& settings) { return std::vector{run_contest(contest, ours, limit, settings)}; }};
}

Figure calls_figure(const Contest& contest, Place place, std::size_t in_flight) {
    return against(contest, our_calls(place, in_flight),
                   [=](const Settings& s) { return make_fabric_ping_pong(s.cores, place.fabric, frame, in_flight); });
}

Figure rtt_figure(const std::string& name, Place place, const Bar& bar) {
    return calls_figure({name, "us", 1e6, Metric::seconds_per_work, bar, "bare tagged ping-pong"}, place, 1);
}

Figure rate_figure() {
    return calls_figure({"ofi.tcp_rxm.rpc.rate.64", "kcalls/s", 1e-3, Metric::work_per_second,
                         Bar{Sense::at_least, 0.7}, "bare tagged, 64 in flight"},
                        tcp_rxm, many);
}

Figure pull_figure(const std::string& name, Place place, const Bar& bar) {
    return against({name, "MB/s", 1e-6, Metric::work_per_second, bar, "bare fi_read"}, our_pull(place),
                   [=](const Settings& s) { return make_fabric_read(s.cores, place.fabric, mebibyte, buffers); });
}

std::vector<Row> run_allocations(const Settings& settings) {
    const auto ours = make_our_rpc(settings.cores, {payload_bytes, 8, false, tcp_rxm.wire});
    // The plugin's buffers grow to the most that the provider has ever held at one time, which takes a while to reach.
    for (int i = 0; i < 10; ++i) ours->run_slice(settings.effort.slice);
    Slice total;
    for (int i = 0; i < 10; ++i) total += ours->run_slice(settings.effort.slice);
    const auto each = static_cast<double>(total.client.allocations + total.server.allocations) / total.work;
    return {count_row("rpc.allocations.ofi", each, "per call", 0)};
}

void add_mercury(std::vector<Figure>& figures) {
    constexpr auto wire = MercuryWire::ofi_tcp_rxm;
    const auto speed = Metric::work_per_second;
    figures.push_back(beside_mercury("ofi.tcp_rxm.rpc.rtt.spin", "us", 1e6, Metric::seconds_per_work,
                                     Bar{Sense::at_most, 0.9}, {wire, MercuryTool::rate, payload_bytes, 1},
                                     our_calls(tcp_rxm, 1)));
    figures.push_back(beside_mercury("ofi.tcp_rxm.rpc.rate.64", "kcalls/s", 1e-3, speed, Bar{Sense::at_least, 1.5},
                                     {wire, MercuryTool::rate, payload_bytes, many}, our_calls(tcp_rxm, many)));
    figures.push_back(beside_mercury("ofi.tcp_rxm.bulk.pull.1m", "MB/s", 1e-6, speed, Bar{Sense::at_least, 1.1},
                                     {wire, MercuryTool::read, mebibyte, buffers}, our_pull(tcp_rxm)));
}

}  // namespace

std::vector<Figure> ofi_figures() {
    std::vector<Figure> figures{rtt_figure("ofi.tcp_rxm.rpc.rtt.spin", tcp_rxm, Bar{Sense::at_most, 1.03}),
                                rate_figure(),
                                pull_figure("ofi.tcp_rxm.bulk.pull.1m", tcp_rxm, Bar{Sense::at_least, 0.95}),
                                rtt_figure("ofi.shm.rpc.rtt.spin", shm, Bar{Sense::at_most, 1.15}),
                                {"rpc.allocations.ofi", run_allocations}};
    if (has_mercury(MercuryWire::ofi_tcp_rxm)) add_mercury(figures);
    return figures;
}

}  // namespace cinnabar::bench
