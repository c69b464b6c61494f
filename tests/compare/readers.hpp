// SPDX-License-Identifier: BSD-3-Clause
// What the programs print, read: the work a second. 0 where the text has no figure. Pure functions.
#pragma once

#include <string>

namespace cinnabar::compare {

// `cinnabar perf ... --json`: calls, or bytes. 0 also where a call failed or a byte was wrong.
[[nodiscard]] double read_perf(const std::string& output, double seconds);
// The echo programs of peers/: "per_second N".
[[nodiscard]] double read_echo(const std::string& output, double seconds);
// `ucx_perftest -f -v` of a latency, which is half a round trip: round trips a second.
[[nodiscard]] double read_ucx_latency(const std::string& output, double seconds);
// The same of a transfer: bytes a second.
[[nodiscard]] double read_ucx_bandwidth(const std::string& output, double seconds);
// `fi_pingpong`, which tells microseconds of half a round trip: round trips a second.
[[nodiscard]] double read_pingpong(const std::string& output, double seconds);
// `iperf3 -J`: bytes a second that were received.
[[nodiscard]] double read_iperf(const std::string& output, double seconds);
// Mercury's `hg_rate` and `hg_bw_read -M`: calls, or bytes, a second.
[[nodiscard]] double read_mercury_rate(const std::string& output, double seconds);
[[nodiscard]] double read_mercury_bandwidth(const std::string& output, double seconds);

}  // namespace cinnabar::compare
