// SPDX-License-Identifier: BSD-3-Clause
#include "mercury.hpp"

#include "../harness/child.hpp"
#include "../harness/scratch.hpp"
#include "support/command_output.hpp"

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

#ifdef CINNABAR_MERCURY
const std::filesystem::path programs{CINNABAR_MERCURY};
#else
const std::filesystem::path programs;
#endif

#ifdef CINNABAR_MERCURY_OFI
constexpr bool has_ofi = true;
#else
constexpr bool has_ofi = false;
#endif

// Before it listens, Mercury's server searches everything below /tmp (or the NA_SM_TMP_DIRECTORY with which Mercury was
// built) for its own leftovers: usually a fraction of a second, but much longer if there are many files.
constexpr double start_seconds_max = 120;
// Each loop of the tools moves as much as is in flight, and some loops run before the measurement.
constexpr double loops_min_calls = 500;
constexpr double loops_min_bulk = 20;

}  // namespace

const char* name_of(MercuryTool tool) noexcept {
    switch (tool) {
        case MercuryTool::rate:
            return "hg_rate";
        case MercuryTool::read:
            return "hg_bw_read";
        default:
            return "hg_bw_write";
    }
}

namespace {

class Mercury : public Subject {
  public:
    Mercury(Cores cores, MercuryWire wire, MercuryTool tool, std::size_t bytes, std::size_t in_flight)
        : cores_(cores), wire_(wire), tool_(tool), bytes_(bytes), in_flight_(in_flight) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        const double wanted = std::chrono::duration<double>(duration).count();
        std::filesystem::remove(hosts_);
        const auto command = [&](const char* program) {
            return "exec env " + environment() + (programs / program).string() + arguments_of(wire_) + " -b -f " +
                   hosts_.string();
        };
        const Daemon server(
            {"sh", "-c", "echo started; " + command("hg_perf_server") + " >" + words_.string() + " 2>&1"},
            cores_.server);
        wait_for(server);
        const double least = tool_ == MercuryTool::rate ? loops_min_calls : loops_min_bulk;
        const auto loops = static_cast<std::size_t>(std::max(rate_ * wanted / static_cast<double>(in_flight_), least));
        std::ostringstream client;
        client << "taskset -c " << cores_.client << " sh -c '" << command(name_of(tool_)) << " -M -x " << in_flight_
               << " -y " << bytes_ << " -z " << bytes_ << " -l " << loops << "' 2>&1";
        rate_ = last_rate(client.str());
        Slice slice;
        slice.seconds = wanted;
        slice.work = rate_ * wanted * (tool_ == MercuryTool::rate ? 1 : static_cast<double>(bytes_));
        return slice;
    }

  private:
    void wait_for(const Daemon& server) const {
        const auto end = seconds_now() + start_seconds_max;
        while (!std::filesystem::exists(hosts_) || std::filesystem::file_size(hosts_) == 0) {
            const bool runs = server.runs();
            if (!runs || seconds_now() > end) {
                std::ostringstream error;
                error << "hg_perf_server " << (runs ? "does not say where it listens: " : "has ended: ")
                      << std::ifstream(words_).rdbuf();
                throw std::runtime_error{error.str()};
            }
            (void)::poll(nullptr, 0, 5);
        }
    }
    // The environment has libfabric's own defaults, not the settings that the ofi plugin has made in this process.
    [[nodiscard]] static std::string environment() {
        return "-u FI_OFI_RXM_EAGER_LIMIT -u FI_OFI_RXM_CM_PROGRESS_INTERVAL LD_LIBRARY_PATH=" +
               (programs.parent_path() / "lib").string() + ' ';
    }
    // As shell words. By default the program makes each handle move 64 buffers: some 15 GB before it reports.
    [[nodiscard]] static const char* arguments_of(MercuryWire wire) noexcept {
        return wire == MercuryWire::sm ? " -c na -p sm" : " -c ofi -p tcp\\;ofi_rxm -H 127.0.0.1 -w 1";
    }

    // Calls or transfers per second. The last line of a report has the size, a rate (of calls, or in MB), and
    // microseconds.
    [[nodiscard]] double last_rate(const std::string& command) const {
        const std::string output = support::output_of(command);
        const std::size_t end = output.find_last_not_of('\n');
        const std::size_t line = output.rfind('\n', end);
        std::istringstream words{output.substr(line == output.npos ? 0 : line + 1)};
        double size = 0;
        double rate = 0;
        const bool reported = words >> size >> rate && size == static_cast<double>(bytes_) && rate > 0;
        if (!reported || output.find("[error]") != output.npos) {
            throw std::runtime_error{std::string{name_of(tool_)} + " reports no rate: " + output};
        }
        return tool_ == MercuryTool::rate ? rate : rate * 1e6 / size;
    }

    const Cores cores_;
    const MercuryWire wire_;
    const MercuryTool tool_;
    const std::size_t bytes_;
    const std::size_t in_flight_;
    const Scratch scratch_{0};
    // The file with the server's address, and one with its other output.
    const std::filesystem::path hosts_ = scratch_.path() / "hosts";
    const std::filesystem::path words_ = scratch_.path() / "words";
    double rate_ = 0;  // the last one, which determines the number of loops in a slice
};

}  // namespace

bool has_mercury(MercuryWire wire) noexcept { return !programs.empty() && (wire == MercuryWire::sm || has_ofi); }

std::unique_ptr<Subject> make_mercury(Cores cores, MercuryWire wire, MercuryTool tool, std::size_t bytes,
                                      std::size_t in_flight) {
    return std::make_unique<Mercury>(cores, wire, tool, bytes, in_flight);
}

}  // namespace cinnabar::bench
