// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"

#include "harness/usage.hpp"
#include "server.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace cinnabar::compare {
namespace {

namespace fs = std::filesystem;

constexpr double ready_seconds_max = 60;
constexpr double slice_seconds_max = 120;
constexpr double count_at_first = 500;
constexpr double not_measured = 0;

std::string filled(std::string line, const std::string& name, const std::string& value) {
    for (std::size_t at = 0; (at = line.find(name, at)) != line.npos; at += value.size())
        line.replace(at, name.size(), value);
    return line;
}

bool has_words(const fs::path& file) {
    std::error_code ignored;
    return fs::file_size(file, ignored) > 0 && !ignored;
}

// One slice of a contender, with a folder of its own.
class Slice {
  public:
    Slice(const Contender& contender, const Pace& pace, const fs::path& scratch, double count)
        : contender_(contender), pace_(pace), folder_(scratch / "slice"), count_(count) {
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    ~Slice() {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    Slice(const Slice&) = delete;
    Slice& operator=(const Slice&) = delete;

    // Returns the work per second.
    double run() {
        const bench::Cores cores = bench::pick_cores();
        std::optional<Server> server;
        if (contender_.ready != Ready::at_once) {
            server.emplace(line_of(contender_.server), cores.server, server_output_);
            await(*server);
        }
        const ClientRun run =
            run_client(line_of(contender_.client), cores.client, folder_ / "client.output", slice_seconds_max);
        const double figure = contender_.read(run.output, run.seconds);
        if (!std::isfinite(figure) || figure <= not_measured)
            throw std::runtime_error("it reports no figure: " + run.output);
        return figure;
    }

  private:
    [[nodiscard]] std::string line_of(std::string line) const {
        line = filled(std::move(line), "@PORT@", std::to_string(port_));
        line = filled(std::move(line), "@DIR@", folder_.string());
        line = filled(std::move(line), "@FROM@", folder_.parent_path().string());
        line = filled(std::move(line), "@FILE@", file_.string());
        line = filled(std::move(line), "@SECONDS@", fmt::format("{}", pace_.seconds));
        return filled(std::move(line), "@COUNT@", fmt::format("{:.0f}", count_));
    }
    [[nodiscard]] bool is_ready() const {
        switch (contender_.ready) {
            case Ready::port:
                return is_listened_on(port_);
            case Ready::output:
                return has_words(server_output_);
            case Ready::file:
                return has_words(file_);
            default:
                return true;
        }
    }
    void await(const Server& server) const {
        const double end = bench::seconds_now() + ready_seconds_max;
        while (!is_ready()) {
            if (!server.runs()) throw std::runtime_error("its server has ended");
            if (bench::seconds_now() > end) throw std::runtime_error("its server does not get ready");
            (void)::poll(nullptr, 0, 1);
        }
    }

    const Contender& contender_;
    const Pace& pace_;
    const fs::path folder_;
    const double count_;
    const std::uint16_t port_ = free_port();
    const fs::path server_output_ = folder_ / "server.output";
    const fs::path file_ = folder_ / "ready";
};

// A count that fills a slice, based on the last figure. Works that count bytes move 1 MiB at a time.
double count_for(const Work& work, double figure, const Pace& pace) {
    if (figure == not_measured) return count_at_first;
    const double each = work.unit == "bytes" ? 1 << 20 : 1;
    return std::max(count_at_first / 10, figure / each * pace.seconds);
}

// The best of our contenders in that round.
double ours_in(const Compared& compared, std::size_t round) {
    double best = not_measured;
    for (const Measured& each : compared.measured) {
        if (each.contender.is_ours) best = std::max(best, each.figures[round]);
    }
    return best;
}

}  // namespace

void judge(Compared& compared) {
    for (Measured& each : compared.measured) {
        std::vector<double> figures;
        std::vector<double> ratios;
        for (std::size_t round = 0; round < each.figures.size(); ++round) {
            if (each.figures[round] == not_measured) continue;
            figures.push_back(each.figures[round]);
            const double ours = ours_in(compared, round);
            if (ours != not_measured) ratios.push_back(ours / each.figures[round]);
        }
        if (!figures.empty()) each.figure = bench::bootstrap_median(figures);
        if (!each.contender.is_ours && !ratios.empty()) each.ours_over_it = bench::bootstrap_median(ratios);
    }
}

Compared compare(const Work& work, const Pace& pace, const fs::path& scratch,
                 const std::function<void(const std::string&)>& tell) {
    Compared compared{work, {}};
    for (const Contender& contender : work.contenders) compared.measured.push_back({contender, {}, {}, {}, {}});
    std::vector<double> last(work.contenders.size(), not_measured);
    for (unsigned round = 0; round < pace.rounds; ++round) {
        for (std::size_t i = 0; i < compared.measured.size(); ++i) {
            Measured& each = compared.measured[i];
            double figure = not_measured;
            try {
                figure = Slice(each.contender, pace, scratch, count_for(work, last[i], pace)).run();
                last[i] = figure;
            } catch (const std::exception& error) {
                each.failure = error.what();
            }
            each.figures.push_back(figure);
            tell(fmt::format("{} {}/{} {}: {}", work.name, round + 1, pace.rounds, each.contender.name,
                             figure == not_measured ? each.failure : fmt::format("{:.4g} {}/s", figure, work.unit)));
        }
    }
    judge(compared);
    return compared;
}

}  // namespace cinnabar::compare
