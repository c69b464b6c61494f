// SPDX-License-Identifier: BSD-3-Clause
#include "perftest.hpp"

#include "../harness/child.hpp"
#include "support/command_output.hpp"

#include <poll.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr double start_seconds_max = 20;
constexpr double times_min = 40;
constexpr int port = 18515;

}  // namespace

const char* name_of(RdmaKind kind) noexcept { return kind == RdmaKind::rxe ? "rxe" : "siw"; }
std::string far_host(RdmaKind kind) { return kind == RdmaKind::rxe ? "10.81.0.2" : "10.82.0.2"; }

const char* name_of(PerfTool tool) noexcept {
    switch (tool) {
        case PerfTool::send_latency:
            return "ib_send_lat";
        case PerfTool::read_bandwidth:
            return "ib_read_bw";
        default:
            return "ib_write_bw";
    }
}

namespace {

class Perftest : public Subject {
  public:
    Perftest(Cores cores, RdmaKind kind, PerfTool tool, std::size_t bytes, std::size_t in_flight)
        : cores_(cores), kind_(kind), tool_(tool), bytes_(bytes), in_flight_(in_flight) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        const double wanted = std::chrono::duration<double>(duration).count();
        const auto times = static_cast<std::size_t>(std::max(rate_ * wanted, times_min));
        const Daemon server({"sh", "-c", "echo started; exec " + command(1, times) + " >/dev/null 2>&1"},
                            cores_.server);
        wait_for_server();
        std::ostringstream client;
        client << "taskset -c " << cores_.client << ' ' << command(0, times) << ' ' << far_host(kind_) << " 2>&1";
        rate_ = reported(support::output_of(client.str()));
        Slice slice;
        slice.seconds = wanted;
        slice.work = rate_ * wanted * (tool_ == PerfTool::send_latency ? 1 : static_cast<double>(bytes_));
        return slice;
    }

  private:
    [[nodiscard]] std::string command(int end, std::size_t times) const {
        std::ostringstream words;
        // rxe: the second GID is RoCE v2 on the IPv4 address. siw connects through rdma_cm only.
        words << name_of(tool_) << " -d " << name_of(kind_) << end << (kind_ == RdmaKind::rxe ? " -x 1" : " -R")
              << " -F -s " << bytes_ << " -n " << times;
        if (tool_ != PerfTool::send_latency) words << " --report_gbits -t " << in_flight_;
        if (tool_ == PerfTool::read_bandwidth) words << " -o " << in_flight_;
        return words.str();
    }

    // A client that starts before its server listens may hang.
    void wait_for_server() const {
        const auto end = seconds_now() + start_seconds_max;
        const std::string listens = "{ ss -Hltn 'sport = " + std::to_string(port) + "'; rdma resource show cm_id | " +
                                    "grep 'LISTEN.*:" + std::to_string(port) + " '; } 2>/dev/null";
        while (support::output_of(listens).empty()) {
            if (seconds_now() > end) throw std::runtime_error{std::string{name_of(tool_)} + " does not listen"};
            (void)::poll(nullptr, 0, 20);
        }
    }

    // Round trips or blocks per second, from the line below the header of the table: bytes, iterations, and for
    // bandwidth the peak and the average in Gbit/s, for latency the minimum, the maximum, the typical and the average
    // in us.
    [[nodiscard]] double reported(const std::string& output) const {
        const std::size_t head = output.find("#bytes");
        std::istringstream line{head == output.npos ? "" : output.substr(output.find('\n', head))};
        double size = 0;
        double times = 0;
        double first = 0;
        double second = 0;
        double typical = 0;
        double average = 0;
        line >> size >> times >> first >> second;
        if (tool_ == PerfTool::send_latency) line >> typical >> average;
        const double value = tool_ == PerfTool::send_latency ? average : second;
        if (!line || size != static_cast<double>(bytes_) || !(value > 0)) {
            throw std::runtime_error{std::string{name_of(tool_)} + " reports nothing: " + output};
        }
        return tool_ == PerfTool::send_latency ? 1e6 / (2 * value) : value * 1e9 / 8 / size;
    }

    const Cores cores_;
    const RdmaKind kind_;
    const PerfTool tool_;
    const std::size_t bytes_;
    const std::size_t in_flight_;
    double rate_ = 0;  // the last one, which determines the number of iterations in a slice
};

}  // namespace

std::unique_ptr<Subject> make_perftest(Cores cores, RdmaKind kind, PerfTool tool, std::size_t bytes,
                                       std::size_t in_flight) {
    return std::make_unique<Perftest>(cores, kind, tool, bytes, in_flight);
}

}  // namespace cinnabar::bench
