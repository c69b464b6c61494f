// SPDX-License-Identifier: BSD-3-Clause
// tcps compared with tcp and with OpenSSL by itself, and ofis with ofi.
#include "../limits/bare_tls.hpp"
#include "../ours/handshakes.hpp"
#include "../ours/ours.hpp"
#include "../ours/secrets.hpp"
#include "figures.hpp"

namespace cinnabar::bench {
namespace {

constexpr std::size_t payload_bytes = 64;
constexpr std::size_t mebibyte = 1 << 20;
constexpr std::size_t buffers = 8;

MakeSubject calls(Wire wire, std::size_t in_flight) {
    return [=](const Settings& settings) {
        return make_our_rpc(settings.cores, {payload_bytes, in_flight, false, wire});
    };
}

MakeSubject pulls(Wire wire) {
    return [=](const Settings& settings) {
        return make_our_bulk(settings.cores, {Direction::to_client, mebibyte, 1, buffers, wire});
    };
}

Figure against(Contest contest, const MakeSubject& ours, const MakeSubject& limit) {
    return {contest.name, [=](const Settings& settings) {
                (void)secrets();
                return std::vector{run_contest(contest, ours, limit, settings)};
            }};
}

// Measures the processor time of both ends; its inverse is what one core does in a second.
Figure handshakes(const char* name, Handshake kind) {
    return against(
        {name, "us", 1e6, Metric::cpu_per_work, Bar{Sense::at_most, 1 / 0.9}, "bare OpenSSL"},
        [=](const Settings&) { return make_our_handshakes(kind); },
        [=](const Settings&) {
            return make_bare_handshakes(secrets().server, secrets().client, kind == Handshake::resumed);
        });
}

// Compared with the slower one of its two parts.
std::vector<Row> run_pull(const Settings& settings) {
    (void)secrets();
    Contest contest{"tcps.bulk.pull.1m", "MB/s", 1e-6, Metric::work_per_second, Bar{Sense::at_least, 0.95}, "tcp"};
    const Row over_tcp = run_contest(contest, pulls(Wire::tcps), pulls(Wire::tcp), settings);
    contest.limit_name = "AES-128-GCM alone, 16 KiB, one core";
    const Row cipher = run_contest(
        contest, pulls(Wire::tcps), [](const Settings&) { return make_cipher(mebibyte, buffers); }, settings);
    return {over_tcp.ratio->median > cipher.ratio->median ? over_tcp : cipher};
}

Figure rtt_figure(const char* name, Wire wire, Wire plain, const char* plain_name) {
    return against({name, "us", 1e6, Metric::seconds_per_work, Bar{Sense::at_most, 1.25}, plain_name}, calls(wire, 1),
                   calls(plain, 1));
}

Figure rate_figure(const char* name, Wire wire, Wire plain, const char* plain_name) {
    return against({name, "kcalls/s", 1e-3, Metric::work_per_second, Bar{Sense::at_least, 0.7}, plain_name},
                   calls(wire, 64), calls(plain, 64));
}

#ifdef CINNABAR_BENCH_OFI
void add_fabrics(std::vector<Figure>& figures) {
    constexpr const char* plain = "ours over ofi";
    constexpr Wire ofis = Wire::ofis_tcp_rxm;
    constexpr Wire ofi = Wire::ofi_tcp_rxm;
    figures.push_back(rtt_figure("ofis.tcp_rxm.rpc.rtt.spin", ofis, ofi, plain));
    figures.push_back(rate_figure("ofis.tcp_rxm.rpc.rate.64", ofis, ofi, plain));
    figures.push_back(
        against({"ofis.tcp_rxm.bulk.pull.1m", "MB/s", 1e-6, Metric::work_per_second, Bar{Sense::at_least, 0.4}, plain},
                pulls(ofis), pulls(ofi)));
}
#endif

}  // namespace

std::vector<Figure> tls_figures() {
    const MakeSubject stream = [](const Settings& settings) {
        return make_tls_stream(settings.cores, secrets().server, secrets().client, mebibyte, buffers);
    };
    std::vector<Figure> figures{
        rtt_figure("tcps.rpc.rtt.spin", Wire::tcps, Wire::tcp, "ours over tcp"),
        rate_figure("tcps.rpc.rate.64", Wire::tcps, Wire::tcp, "ours over tcp"),
        {"tcps.bulk.pull.1m", run_pull},
        against({"tcps.bulk.pull.1m.openssl", "MB/s", 1e-6, Metric::work_per_second, Bar{Sense::at_least, 1.0},
                 "bare OpenSSL stream"},
                pulls(Wire::tcps), stream),
        handshakes("tcps.handshakes.full", Handshake::full),
        handshakes("tcps.handshakes.resumed", Handshake::resumed),
    };
#ifdef CINNABAR_BENCH_OFI
    add_fabrics(figures);
#endif
    return figures;
}

}  // namespace cinnabar::bench
