// SPDX-License-Identifier: BSD-3-Clause
// Readers for the output of the programs: they return the work per second, or 0 if the text has no figure. Pure
// functions.
#pragma once

#include <string>

namespace cinnabar::compare {

// `cinnabar perf ... --json`: calls or bytes per second. 0 also if a call failed or a byte was wrong.
[[nodiscard]] double read_perf(const std::string& output, double seconds);
// The echo programs of peers/: "per_second N".
[[nodiscard]] double read_echo(const std::string& output, double seconds);
// `ucx_perftest -f -v` for latency, which is half a round trip: round trips per second.
[[nodiscard]] double read_ucx_latency(const std::string& output, double seconds);
// The same for a transfer: bytes per second.
[[nodiscard]] double read_ucx_bandwidth(const std::string& output, double seconds);
// `fi_pingpong`, which prints the microseconds of half a round trip: round trips per second.
[[nodiscard]] double read_pingpong(const std::string& output, double seconds);
// perftest's `ib_send_lat`, which prints the average microseconds of half a round trip, and `ib_read_bw`, which prints
// the average MiB per second.
[[nodiscard]] double read_perftest_latency(const std::string& output, double seconds);
[[nodiscard]] double read_perftest_bandwidth(const std::string& output, double seconds);
// `iperf3 -J`: received bytes per second.
[[nodiscard]] double read_iperf(const std::string& output, double seconds);
// Mercury's `hg_rate` and `hg_bw_read -M`: calls or bytes per second.
[[nodiscard]] double read_mercury_rate(const std::string& output, double seconds);
[[nodiscard]] double read_mercury_bandwidth(const std::string& output, double seconds);

}  // namespace cinnabar::compare
