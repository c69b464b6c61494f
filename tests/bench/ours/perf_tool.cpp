// SPDX-License-Identifier: BSD-3-Clause
#include "perf_tool.hpp"

#include "../harness/child.hpp"
#include "support/command_output.hpp"

#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

class PerfTool final : public Subject {
  public:
    PerfTool(Cores cores, const std::string& tool, std::size_t in_flight)
        : server_({tool, "perf", "serve", "--listen", "shm://"}, cores.server) {
        const std::string begin = "listening on ";
        if (!server_.first_line().starts_with(begin))
            throw std::runtime_error{"cinnabar perf serve: " + server_.first_line()};
        std::ostringstream command;
        command << "taskset -c " << cores.client << ' ' << tool << " perf calls '"
                << server_.first_line().substr(begin.size()) << "' --json --repeats 1 --warm-up 0.02 --size 64 --depth "
                << in_flight << " --seconds ";
        command_ = command.str();
    }

    Slice run_slice(std::chrono::milliseconds duration) override {
        Slice slice;
        slice.seconds = std::chrono::duration<double>(duration).count();
        const std::string output = support::output_of(command_ + std::to_string(slice.seconds));
        const std::string key = "\"per_second\": ";
        const auto at = output.find(key);
        const double rate = at == std::string::npos ? 0 : std::strtod(output.c_str() + at + key.size(), nullptr);
        if (rate <= 0 || output.find("\"exit\": 0}") == std::string::npos)
            throw std::runtime_error{"cinnabar perf calls measures nothing: " + output};
        slice.work = rate * slice.seconds;
        return slice;
    }

  private:
    Daemon server_;
    std::string command_;
};

}  // namespace

std::unique_ptr<Subject> make_perf_tool(Cores cores, const std::string& tool, std::size_t in_flight) {
    return std::make_unique<PerfTool>(cores, tool, in_flight);
}

}  // namespace cinnabar::bench
