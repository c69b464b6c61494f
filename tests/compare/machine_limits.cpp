// SPDX-License-Identifier: BSD-3-Clause
#include "machine_limits.hpp"

#include "readers.hpp"

#include <string>

namespace cinnabar::compare {
namespace {

// The program counts bytes itself where the work is bytes, unlike the echo programs.
double read_limit(const std::string& output, double seconds) { return read_echo(output, seconds); }

}  // namespace

Contender machine_limit(const char* name, const char* remark) {
    Contender one;
    one.name = std::string("the machine's limit, ") + name;
    one.version = CINNABAR_VERSION;
    one.client = std::string("exec ") + machine_limit_program + " " + name + " @SECONDS@";
    one.read = &read_limit;
    one.remark = remark;
    one.is_limit = true;
    return one;
}

}  // namespace cinnabar::compare
