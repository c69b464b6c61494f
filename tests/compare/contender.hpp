// SPDX-License-Identifier: BSD-3-Clause
// A program that does some work, given as the shell lines that run it. The figure is read from its output.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::compare {

// How to find out that a server is ready.
enum class Ready : std::uint8_t {
    at_once,  // there is no server
    port,     // something listens on the port
    output,   // it has printed something
    file,     // its file exists and is not empty
};

// In the lines, @PORT@ stands for a free port, @DIR@ for a folder of the slice on tmpfs, @FROM@ for the folder with the
// files to move, @FILE@ for the file for which Ready waits, @SECONDS@ and @COUNT@ for how long the client works.
struct Contender {
    std::string name;
    std::string version;
    std::string server;
    Ready ready = Ready::at_once;
    std::string client;
    // The work per second, from the output of the client and the seconds that it took; 0: the output has no figure.
    double (*read)(const std::string& output, double seconds) = nullptr;
    std::string remark;  // how its work differs from that of the other contenders
    bool is_ours = false;
    bool is_limit = false;  // what the machine allows: no program that one could use instead
};

struct Work {
    std::string name;                   // "call.host"
    std::string title;                  // "A call of 64 bytes and its reply within a host, one in flight"
    std::string unit;                   // of the work: "calls", "bytes"
    std::vector<Contender> contenders;  // our own first
    std::string missing;                // contenders that are not installed

    void add(bool is_installed, const char* program, Contender contender) {
        if (is_installed) return contenders.push_back(std::move(contender));
        missing += (missing.empty() ? "" : ", ") + std::string(program);
    }
};

}  // namespace cinnabar::compare
