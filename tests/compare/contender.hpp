// SPDX-License-Identifier: BSD-3-Clause
// A program that does some work, as the shell lines that run it: what is measured is what the report prints.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::compare {

// How one knows that a server can be reached.
enum class Ready : std::uint8_t {
    at_once,  // there is no server
    port,     // something listens on the port
    output,   // it has said something
    file,     // its file is there and not empty
};

// In the lines, @PORT@ stands for a free port, @DIR@ for a folder of the slice on tmpfs, @FROM@ for the folder
// that has what is moved, @FILE@ for the file that Ready waits for, @SECONDS@ and @COUNT@ for how long the client
// works.
struct Contender {
    std::string name;
    std::string version;
    std::string server;
    Ready ready = Ready::at_once;
    std::string client;
    // From what the client printed and the seconds it took, the work a second; 0: it reports nothing of that kind.
    double (*read)(const std::string& output, double seconds) = nullptr;
    std::string remark;  // in which way it does something else than the others
    bool is_ours = false;
};

struct Work {
    std::string name;                   // "call.host"
    std::string title;                  // "A call of 64 bytes and its reply within a host, one in flight"
    std::string unit;                   // of the work: "calls", "bytes"
    std::vector<Contender> contenders;  // ours first
    std::string missing;                // contenders that are not installed

    void add(bool is_installed, const char* who, Contender contender) {
        if (is_installed) return contenders.push_back(std::move(contender));
        missing += (missing.empty() ? "" : ", ") + std::string(who);
    }
};

}  // namespace cinnabar::compare
