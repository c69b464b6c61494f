// SPDX-License-Identifier: BSD-3-Clause
#include "readers.hpp"

#include <nlohmann/json.hpp>

#include <sstream>
#include <string_view>
#include <vector>

namespace cinnabar::compare {
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

// The numbers in the last line that begins with a number.
std::vector<double> last_numbers(std::string text, char separator) {
    std::vector<double> last;
    for (char& each : text) {
        if (each == separator) each = ' ';
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::vector<double> numbers;
        for (double number = 0; words >> number;) numbers.push_back(number);
        if (!numbers.empty()) last = std::move(numbers);
    }
    return last;
}

double at(const std::vector<double>& numbers, std::size_t index) { return index < numbers.size() ? numbers[index] : 0; }

// The columns of ucx_perftest: iterations, median, average and overall latency in microseconds, average and overall
// bandwidth in MiB per second, ...
constexpr std::size_t ucx_overall_latency = 3;
constexpr std::size_t ucx_overall_bandwidth = 5;

double trips(double half_a_trip_us) { return half_a_trip_us > 0 ? 1e6 / (2 * half_a_trip_us) : 0; }

}  // namespace

double read_perf(const std::string& output, double) {
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line, nullptr, false);
        if (!row.is_object() || !row.contains("done")) continue;
        if (row.value("failed", 1) != 0 || row.value("wrong", 1) != 0) return 0;
        for (const char* const figure : {"per_second", "bytes_per_second"}) {
            if (row.contains(figure) && row[figure].is_number()) return row[figure].get<double>();
        }
    }
    return 0;
}

double read_echo(const std::string& output, double) {
    constexpr std::string_view word = "per_second ";
    const std::size_t begin = output.rfind(word);
    return begin == output.npos ? 0 : at(last_numbers(output.substr(begin + word.size()), ','), 0);
}

double read_ucx_latency(const std::string& output, double) {
    return trips(at(last_numbers(output, ','), ucx_overall_latency));
}

double read_ucx_bandwidth(const std::string& output, double) {
    return at(last_numbers(output, ','), ucx_overall_bandwidth) * mebibyte;
}

// The columns are bytes, #sent, #ack, total, time, MB/sec, usec/xfer, Mxfers/sec; counts are followed by units.
double read_pingpong(const std::string& output, double) {
    std::istringstream lines(output);
    std::string line;
    bool is_next = false;
    while (std::getline(lines, line)) {
        if (is_next) break;
        is_next = line.find("usec/xfer") != line.npos;
    }
    if (!is_next) return 0;
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 6; ++i) words >> word;
    double half_a_trip_us = 0;
    words >> half_a_trip_us;
    return words ? trips(half_a_trip_us) : 0;
}

// The columns are bytes, iterations, minimum, maximum, typical and average latency, ...
double read_perftest_latency(const std::string& output, double) { return trips(at(last_numbers(output, ','), 5)); }

// The columns are bytes, iterations, peak and average bandwidth, ...
double read_perftest_bandwidth(const std::string& output, double) {
    return at(last_numbers(output, ','), 3) * mebibyte;
}

double read_iperf(const std::string& output, double) {
    constexpr int bits_per_byte = 8;
    const auto report = nlohmann::json::parse(output, nullptr, false);
    const auto* const rate = "/end/sum_received/bits_per_second";
    const nlohmann::json::json_pointer where(rate);
    if (!report.is_object() || !report.contains(where) || !report[where].is_number()) return 0;
    return report[where].get<double>() / bits_per_byte;
}

double read_mercury_rate(const std::string& output, double) { return at(last_numbers(output, ','), 1); }

double read_mercury_bandwidth(const std::string& output, double) {
    constexpr double megabyte = 1e6;  // with -M
    return at(last_numbers(output, ','), 1) * megabyte;
}

}  // namespace cinnabar::compare
