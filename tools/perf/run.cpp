// SPDX-License-Identifier: BSD-3-Clause
// The client side of `cinnabar perf`.
#include "commands/descriptors.hpp"
#include "perf/command.hpp"
#include "perf/html_report.hpp"
#include "perf/machine_limit.hpp"
#include "perf/output.hpp"
#include "perf/shapes.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/report.hpp"

#include <cinnabar/base/printable.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>

namespace cinnabar::tools::perf {
namespace {

std::string local_time() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    std::array<char, 64> text{};
    if (!::localtime_r(&now, &parts)) return {};
    return std::string(text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S %z", &parts));
}

// The command line as given, words separated by blanks.
std::string own_command() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::string words((std::istreambuf_iterator<char>(file)), {});
    if (!words.empty()) words.pop_back();
    std::ranges::replace(words, '\0', ' ');
    return words;
}

std::unique_ptr<Output> output_for(RunOptions::Print print) {
    switch (print) {
        case RunOptions::Print::text:
            break;
        case RunOptions::Print::json:
            return make_json_output();
        case RunOptions::Print::csv:
            return make_csv_output();
    }
    return make_text_output();
}

class Runner {
  public:
    Runner(const RunOptions& options, Results& results, Output& output, const std::stop_token& stop)
        : options_(options), results_(results), output_(output), stop_(stop) {}

    Result<void> run() {
        if (options_.calls) {
            for (const auto& shape : shapes_of(*options_.calls)) CINNABAR_TRY_VOID(run_one(shape));
            for (const auto& shape : steps_of(*options_.calls, results_.calls)) CINNABAR_TRY_VOID(run_one(shape));
        }
        if (options_.bulk) {
            for (const auto& shape : shapes_of(*options_.bulk)) CINNABAR_TRY_VOID(run_one(shape));
            for (const std::uint64_t size : options_.bulk->sizes) {
                constexpr double seconds = 0.1;
                results_.machine.push_back({size, memory_copy_rate(size, seconds)});
            }
        }
        return {};
    }

  private:
    Result<void> run_one(const CallShape& shape) {
        CINNABAR_TRY(auto row, run_calls(results_.target, shape, options_.plan, stop_));
        results_.calls.push_back(std::move(row));
        output_.add(results_.calls.back(), results_);
        return {};
    }
    Result<void> run_one(const BulkShape& shape) {
        CINNABAR_TRY(auto row, run_bulk(results_.target, shape, options_.plan, stop_));
        results_.bulk.push_back(std::move(row));
        output_.add(results_.bulk.back(), results_);
        return {};
    }

    const RunOptions& options_;
    Results& results_;
    Output& output_;
    const std::stop_token& stop_;
};

ExitCode tell(const std::string& uri, const Error& error) {
    complain(printable(uri) + ": " + explain(error, uri));
    return exit_code(error.code);
}

// Writes the report; after an error, with the rows measured before it.
ExitCode write_report(const std::string& path, const Results& results) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << html_report(results);
    file.close();
    if (file) return ExitCode::ok;
    complain(printable(path) + ": the report cannot be written: " + std::strerror(errno));
    return ExitCode::io;
}

}  // namespace

ExitCode run(const RunOptions& options) {
    raise_descriptor_limit();
    const Interrupt interrupt;
    const std::stop_token stop = interrupt.token();
    auto target = find_target(options.to, options.transport, std::chrono::duration<double>(options.wait_seconds), stop,
                              options.tls);
    if (!target) return tell(options.to, target.error());
    Results results;
    results.version = CINNABAR_VERSION;
    results.command = own_command();
    results.began = local_time();
    results.target = *std::move(target);
    results.plan = options.plan;
    const auto output = output_for(options.print);
    output->begin(results);
    const auto ran = Runner(options, results, *output, stop).run();
    output->end(results);
    const ExitCode ended = ran ? ExitCode::ok : tell(options.to, ran.error());
    const ExitCode exit = results.exit() == ExitCode::ok ? ended : results.exit();
    const ExitCode written = options.html.empty() ? ExitCode::ok : write_report(options.html, results);
    return exit == ExitCode::ok ? written : exit;
}

}  // namespace cinnabar::tools::perf
