// SPDX-License-Identifier: BSD-3-Clause
// The rate of one server with few and with many clients, compared with its rate with one client.
#include "../ours/many_callers.hpp"
#include "../ours/many_peers.hpp"
#include "figures.hpp"

#include <cinnabar/na/addr.hpp>

#include <array>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr std::size_t payload_bytes = 64;
constexpr std::size_t in_flight = 8;  // of each client
constexpr Bar bar{Sense::at_least, 0.7};

using Clients = std::array<std::size_t, 3>;

// Only the first contexts of a process keep in an address which peer it means. They are taken here, so that a call is
// the same work for a client alone as for one of many.
std::vector<std::unique_ptr<RpcEndpoint>> first_contexts() {
    std::vector<std::unique_ptr<RpcEndpoint>> taken;
    for (std::size_t i = 0; i < na::AddrBody::shortcuts; ++i) {
        taken.push_back(std::make_unique<RpcEndpoint>(false, rpc::Options{}));
    }
    return taken;
}

std::vector<Row> run(const std::string& name, Wire wire, const Clients& clients, const Settings& settings) {
    allow_open_files(descriptors_of_a_caller(wire) * (2 * clients[0] + clients[1] + clients[2]) + 1000);
    std::vector<std::unique_ptr<Subject>> servers;
    std::vector<Subject*> subjects;
    for (const std::size_t count : {clients[0], clients[1], clients[2], clients[0]}) {  // the last one shows the noise
        servers.push_back(make_many_callers(settings.cores, {count, in_flight, payload_bytes, wire}));
        subjects.push_back(servers.back().get());
    }
    const auto first = first_contexts();
    Effort effort = settings.effort;
    effort.slice *= 2;  // at the end of each, the calls of many clients are waited for
    const Series series = compare_with_first(subjects, Metric::work_per_second, effort);
    std::vector<Row> rows;
    for (std::size_t i = 0; i < clients.size(); ++i) {
        Row row;
        row.name = name + "." + std::to_string(clients[i]);
        row.value = series.values[i] * 1e-3;
        row.unit = "kcalls/s";
        row.remark = std::to_string(series.rounds) + " rounds";
        if (i > 0) {
            row.limit_name = "one client";
            row.limit = series.values[0] * 1e-3;
            row.ratio = series.ratios[i];
            row.noise = series.ratios.back().distance_from_one();
        }
        if (i + 1 == clients.size()) {
            row.bar = bar;
            row.verdict = judge(*row.ratio, bar);
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

Figure clients_figure(const std::string& name, Wire wire, const Clients& clients) {
    return {name, [=](const Settings& settings) { return run(name, wire, clients, settings); }};
}

}  // namespace

std::vector<Figure> client_figures() {
    return {clients_figure("tcp.rate.clients", Wire::tcp, {1, 64, 1024}),
            clients_figure("shm.rate.clients", Wire::shm, {1, 64, 512})};
}

}  // namespace cinnabar::bench
