// SPDX-License-Identifier: BSD-3-Clause
// The options of `cinnabar perf`, and the functions that run it. Each run function reports its errors and returns the
// exit code of the process.
#pragma once

#include "perf/bulk_load.hpp"
#include "perf/faults.hpp"
#include "perf/mesh.hpp"
#include "perf/plan.hpp"
#include "perf/schedule.hpp"
#include "terminal/exit_code.hpp"

#include <cinnabar/hl/introspection.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools::perf {

struct ServeOptions {
    std::vector<std::string> listen;
    na::TlsOptions tls;  // for tcps, ofis and verbss
    bool insecure = false;
    std::uint64_t memory_bytes = 256u << 20;
    unsigned contexts = 1;
    bool mesh = false;                                              // run loads towards other servers for clients
    hl::Introspection introspection = hl::Introspection::own_user;  // who may use cinnabar top
    Faults faults;
};
[[nodiscard]] ExitCode run_serve(const ServeOptions& options);

// Each list gives the values of one parameter; one row is measured for each combination.
struct CallsOptions {
    std::vector<std::uint64_t> sizes{64};
    std::vector<std::uint32_t> depths;  // empty: 1 in a closed loop, the maximum in an open loop
    std::vector<std::uint32_t> contexts{1};
    std::vector<std::uint32_t> clients{1};
    std::vector<std::uint32_t> threads{0};
    std::vector<double> rates;  // empty: closed loops
    // The rates of open loops that run after the closed loops, in percent of the best measured rate; ignored if `rates`
    // is given.
    std::vector<double> steps_percent;
    Arrivals arrivals = Arrivals::even;
};

struct BulkOptions {
    std::vector<std::uint64_t> sizes{1u << 20};
    std::vector<std::uint32_t> segments{1};
    std::vector<std::uint32_t> depths{8};
    std::vector<Direction> directions{Direction::pull, Direction::push};
    std::vector<MemoryKind> memories{MemoryKind::exposed};
};

struct RunOptions {
    std::string to;
    std::string transport;  // a scheme; empty: the best one in the address
    na::TlsOptions tls;     // for tcps, ofis and verbss
    double wait_seconds = 0;
    Plan plan;
    enum class Print : std::uint8_t { text, json, csv } print = Print::text;
    std::string html;  // also write the report to this file; empty: none
    std::optional<CallsOptions> calls;
    std::optional<BulkOptions> bulk;
};
[[nodiscard]] ExitCode run(const RunOptions& options);

struct MeshOptions {
    std::vector<std::string> servers;
    std::string servers_file;           // more servers; empty: none
    MeshPlan plan;                      // without these:
    std::optional<std::uint64_t> size;  // unset: that of the kind of load
    bool bulk = false;
    Direction direction = Direction::pull;
    RunOptions::Print print = RunOptions::Print::text;
};
[[nodiscard]] ExitCode run_mesh(const MeshOptions& options);

struct GroupOptions {
    std::vector<std::string> listen = {"tcp://127.0.0.1:0"};
    na::TlsOptions tls;  // for tcps, ofis and verbss
    std::vector<std::uint64_t> sizes{64};
    std::vector<std::uint64_t> bulk_sizes;  // bytes for each member; empty: no bulk calls
    std::vector<std::uint32_t> members;     // empty: all processes that were started
    std::uint32_t rounds = 200;
    bool json = false;
};
[[nodiscard]] ExitCode run_group(const GroupOptions& options);

}  // namespace cinnabar::tools::perf
