// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar perf mesh`: makes several servers, all at the same time, call each other or transfer data with each other,
// and gathers what the servers measured. What a server sends is checked before it is used.
#pragma once

#include "perf/bulk_load.hpp"
#include "perf/histogram.hpp"
#include "perf/mesh_protocol.hpp"
#include "perf/outcomes.hpp"
#include "terminal/exit_code.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/types.hpp>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace cinnabar::tools::perf {

struct MeshPlan {
    double warm_up_seconds = 0.5;
    double seconds = 2;
    Microseconds deadline{5'000'000};  // of each call
    std::uint64_t size = 64;           // bytes of a call, in each direction, or of a transfer
    std::uint32_t depth = 1;           // calls in flight from each server to each other one, or transfers
    std::string transport;             // a scheme; empty: the best one in each address
    na::TlsOptions tls;                // for tcps, ofis and verbss
    // The direction of the transfers that servers make instead of calls; unset: calls. One server asks, and the other
    // server transfers. pull: the other server reads the memory of the asking server; push: the other server writes to
    // that memory.
    std::optional<Direction> bulk = {};
};

// The calls of one server to another, or the transfers that one server asks another for.
struct MeshPair {
    std::string transport;  // in use; empty: none
    Outcomes outcomes;
    double per_second = 0;
    double bytes_per_second = 0;      // of transfers: while there was one
    std::uint64_t checked_bytes = 0;  // of replies, or of what was transferred
    bool gave_up = false;
    std::string latency_bytes;  // verified; decoded, a histogram has some 40 KB

    // Whether the figures count: at least one operation succeeded, and none failed.
    [[nodiscard]] bool well() const noexcept { return outcomes.all_well() && !outcomes.nothing() && !gave_up; }
    [[nodiscard]] Histogram latency() const;
};

struct MeshServer {
    std::string uri;
    std::string release;              // version of the library there
    std::optional<Error> lost;        // it did not answer, or did not run its load: it has no pairs
    std::vector<MeshPair> to_others;  // in the order of the servers, without itself
    // Of all transfers of the pairs that went well: per second of the time in which at least one was in flight.
    double bytes_per_second = 0;
};

struct MeshTotal {
    std::uint64_t pairs = 0;
    std::uint64_t well = 0;
    // Of the pairs that went well:
    double per_second = 0;
    double bytes_per_second = 0;  // those of the servers, added up
    Histogram latency{load_latency_bits};
    // Of all pairs that were measured:
    std::uint64_t checked_bytes = 0;
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
    std::uint64_t wrong = 0;
};

struct MeshResults {
    MeshPlan plan;
    std::vector<MeshServer> servers;

    // Null: a server and itself, or the origin is lost.
    [[nodiscard]] const MeshPair* pair(std::size_t origin, std::size_t target) const noexcept;
    [[nodiscard]] MeshTotal total() const;
    // The exit code of the first server or pair that did not go well.
    [[nodiscard]] ExitCode exit() const noexcept;
};

// Reads a file with one address a line; empty lines and lines that begin with # are skipped. io.
[[nodiscard]] Result<std::vector<std::string>> read_servers(const std::string& path);

// Measures the mesh. Takes the times of the plan, the deadline of a call, and after failures some seconds more. On an
// error, no server was asked for anything. invalid_argument: fewer than two servers, a server that is named twice, or
// as check_load(). bad_address: an address cannot be parsed. canceled: stopped.
[[nodiscard]] Result<MeshResults> measure_mesh(const std::vector<std::string>& servers, const MeshPlan& plan,
                                               const std::stop_token& stop);

}  // namespace cinnabar::tools::perf
