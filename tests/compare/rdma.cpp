// SPDX-License-Identifier: BSD-3-Clause
#include "rdma.hpp"

#include "installed.hpp"
#include "readers.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace cinnabar::compare {
namespace {

constexpr const char* bulk_depth = "8";

// The server prints its address, since the device chooses a part of it.
Contender ours(const std::string& device, bool bulk) {
    Contender one;
    one.is_ours = true;
    one.name = "Cinnabar, verbs";
    one.version = CINNABAR_VERSION;
    one.server = "exec cinnabar perf serve --insecure --listen verbs://" + device + ":0";
    one.ready = Ready::output;
    one.client = std::string("exec cinnabar perf ") + (bulk ? "bulk" : "calls") +
                 " \"$(sed -n 's/^listening on //p' @DIR@/server.output)\" -t @SECONDS@ -r 1 --json " +
                 (bulk ? std::string("-s 1048576 --direction pull -d ") + bulk_depth : std::string("-s 64 -d 1"));
    one.read = &read_perf;
    return one;
}

Contender perftest(const std::string& device, bool bulk) {
    const std::string line = std::string("exec ") + (bulk ? "ib_read_bw" : "ib_send_lat") + " -F -d " + device +
                             " -p @PORT@ -n @COUNT@ " +
                             (bulk ? std::string("-s 1048576 -t ") + bulk_depth : std::string("-s 64"));
    Contender one;
    one.name = bulk ? "perftest, ib_read_bw" : "perftest, ib_send_lat";
    one.version = version_of_package("perftest");
    one.server = line;
    one.ready = Ready::port;
    one.client = line + " 127.0.0.1";
    one.read = bulk ? &read_perftest_bandwidth : &read_perftest_latency;
    one.remark = bulk ? "one-sided reads of one buffer" : "messages there and back: no call is matched with its reply";
    return one;
}

Work work_of(const std::string& device, bool bulk, std::string name, std::string title) {
    Work work{std::move(name), std::move(title), bulk ? "bytes" : "calls", {ours(device, bulk)}, {}};
    work.add(is_installed("ib_send_lat") && is_installed("ib_read_bw"), "perftest", perftest(device, bulk));
    return work;
}

}  // namespace

std::string rdma_device() {
#ifdef CINNABAR_COMPARE_VERBS
    std::string first;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband", none)) {
        const std::string name = entry.path().filename().string();
        if (first.empty() || name < first) first = name;
    }
    return first;
#else
    return {};
#endif
}

std::vector<Work> rdma_works(const std::string& device) {
    if (device.empty()) return {};
    return {work_of(device, false, "call.rdma", "A call of 64 bytes and its reply, over an RDMA device"),
            work_of(device, true, "bulk.rdma", "1 MiB at a time, 8 in flight, over an RDMA device")};
}

}  // namespace cinnabar::compare
