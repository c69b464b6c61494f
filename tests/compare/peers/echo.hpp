// SPDX-License-Identifier: BSD-3-Clause
// The common parts of the echo programs for other libraries: arguments, the check of replies, and the count.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::compare {

inline constexpr std::size_t reply_bytes_max = 64;

struct Calls {
    std::size_t bytes = 0;
    unsigned depth = 1;  // calls in flight
    double seconds = 1;
};

inline std::string pattern(std::size_t bytes) {
    std::string text(bytes, 0);
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 31 >> 2);
    return text;
}
inline bool is_reply(std::string_view reply, const std::string& request) {
    return reply == std::string_view(request).substr(0, reply_bytes_max);
}

// Counts the calls that end after the first tenth of a second.
class Count {
  public:
    explicit Count(double seconds)
        : begin_(Clock::now() + std::chrono::milliseconds(100)),
          end_(begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
    [[nodiscard]] bool goes_on() const { return Clock::now() < end_; }
    void add() {
        if (Clock::now() >= begin_) ++calls_;
    }
    // Prints the line that readers.hpp reads; returns the exit status.
    [[nodiscard]] int tell() const {
        const std::chrono::duration<double> span = Clock::now() - begin_;
        std::printf("per_second %f\n", static_cast<double>(calls_) / span.count());
        return calls_ > 0 ? 0 : 1;
    }

  private:
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin_;
    const Clock::time_point end_;
    unsigned long calls_ = 0;
};

inline void tell_ready() {
    std::puts("ready");
    std::fflush(stdout);
}

inline int fail(const char* what, const char* why) {
    std::fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

template <typename Serve, typename Call>
int run(int argc, char** argv, Serve serve, Call call) {
    const std::string verb = argc > 2 ? argv[1] : "";
    if (verb == "serve" && argc == 3) return serve(std::string(argv[2]));
    if (verb == "call" && argc == 6) {
        Calls calls;
        calls.bytes = std::strtoul(argv[3], nullptr, 10);
        calls.depth = static_cast<unsigned>(std::strtoul(argv[4], nullptr, 10));
        calls.seconds = std::strtod(argv[5], nullptr);
        return call(std::string(argv[2]), calls);
    }
    return fail("usage", "serve ADDRESS | call ADDRESS BYTES DEPTH SECONDS");
}

}  // namespace cinnabar::compare
