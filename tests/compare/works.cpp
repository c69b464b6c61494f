// SPDX-License-Identifier: BSD-3-Clause
#include "works.hpp"

#include "file_movers.hpp"
#include "installed.hpp"
#include "machine_limits.hpp"
#include "rdma.hpp"
#include "readers.hpp"

#include <map>
#include <utility>

namespace cinnabar::compare {
namespace {

enum class Way : std::uint8_t { host, tcp, tls };
enum class Shape : std::uint8_t { call, rate, bulk };

constexpr int in_flight_max = 64;
constexpr int bulk_in_flight = 8;

const char* bytes_of(Shape shape) { return shape == Shape::bulk ? "1048576" : "64"; }
std::string depth_of(Shape shape) {
    return std::to_string(shape == Shape::call ? 1 : shape == Shape::rate ? in_flight_max : bulk_in_flight);
}

// Makes a CA and the certificates of both sides in @DIR@/lab, and prints nothing.
constexpr const char* make_certificates =
    "(cinnabar cert ca @DIR@/lab && cinnabar cert server @DIR@/lab server --host 127.0.0.1 && "
    "cinnabar cert client @DIR@/lab client) >@DIR@/certificates 2>&1 && ";

std::string certificate_of(const char* side) {
    const std::string file = std::string("@DIR@/lab/") + side;
    return " --cert " + file + ".pem --cert-key " + file + ".key --ca @DIR@/lab/ca.pem";
}

Contender ours(Way way, Shape shape) {
    static const std::map<Way, const char*> schemes{{Way::host, "shm"}, {Way::tcp, "tcp"}, {Way::tls, "tcps"}};
    const std::string scheme = schemes.at(way);
    const std::string uri = scheme + (way == Way::host ? "://compare-@PORT@" : "://127.0.0.1:@PORT@");
    Contender one;
    one.is_ours = true;
    one.name = "Cinnabar, " + scheme;
    one.version = CINNABAR_VERSION;
    one.server = "exec cinnabar perf serve --listen " + uri;
    one.ready = Ready::output;
    one.client = std::string("exec cinnabar perf ") + (shape == Shape::bulk ? "bulk " : "calls ") + uri +
                 " -t @SECONDS@ -r 1 -s " + bytes_of(shape) + " -d " + depth_of(shape) +
                 (shape == Shape::bulk ? " --direction pull" : "") + " --json";
    if (way == Way::tls) {
        one.server = make_certificates + one.server + certificate_of("server");
        one.client += certificate_of("client");
    }
    one.read = &read_perf;
    return one;
}

Contender mercury(Way way, Shape shape) {
    const std::string arguments =
        (way == Way::host ? std::string(" -c na -p sm") : std::string(" -c ofi -p 'tcp;ofi_rxm' -H 127.0.0.1 -w 1")) +
        " -b -f @FILE@";
    const std::string environment = "exec env LD_LIBRARY_PATH=\"$(dirname \"$(command -v hg_perf_server)\")/../lib\" ";
    Contender one;
    one.name = way == Way::host ? "Mercury, na+sm" : "Mercury, ofi+tcp";
    one.version = "as installed";
    one.server = environment + "hg_perf_server" + arguments;
    one.ready = Ready::file;
    one.client = environment + (shape == Shape::bulk ? "hg_bw_read" : "hg_rate") + arguments + " -M -x " +
                 depth_of(shape) + " -y " + bytes_of(shape) + " -z " + bytes_of(shape) + " -l @COUNT@";
    one.read = shape == Shape::bulk ? &read_mercury_bandwidth : &read_mercury_rate;
    return one;
}

constexpr const char* mercury_echo_program = "compare_mercury_echo";

// Our own program by Mercury's API. The server pulls the bytes of a bulk call.
Contender mercury_echo(Way way, Shape shape) {
    const std::string place =
        std::string(" '") + (way == Way::host ? "na+sm" : "ofi+tcp;ofi_rxm://127.0.0.1") + ",@FILE@'";
    const std::string program = std::string("exec ") + mercury_echo_program;
    Contender one;
    one.name = way == Way::host ? "Mercury, na+sm, by our program" : "Mercury, ofi+tcp, by our program";
    one.version = "as installed";
    one.server = program + " serve" + place;
    one.ready = Ready::file;
    one.client = program + " call" + place + " " + bytes_of(shape) + " " + depth_of(shape) + " @SECONDS@";
    one.read = &read_echo;
    one.remark = "both ends poll";
    return one;
}

Contender ucx(Way way, Shape shape) {
    const std::string environment =
        std::string("exec env UCX_TLS=") + (way == Way::host ? "posix,sysv,cma,self" : "tcp,self");
    Contender one;
    one.name = way == Way::host ? "UCX, shared memory" : "UCX, tcp";
    one.version = version_of_package("ucx-utils");
    one.server = environment + " ucx_perftest -p @PORT@";
    one.ready = Ready::port;
    const std::string test = shape == Shape::bulk ? "ucp_get -O " + depth_of(shape) : "ucp_am_lat";
    one.client = environment + " ucx_perftest 127.0.0.1 -p @PORT@ -t " + test + " -s " + bytes_of(shape) +
                 " -n @COUNT@ -w 10 -f -v";
    one.read = shape == Shape::bulk ? &read_ucx_bandwidth : &read_ucx_latency;
    one.remark = shape == Shape::bulk ? "one-sided reads of one buffer"
                                      : "messages there and back: no call is matched with its reply";
    return one;
}

Contender pingpong(Way way) {
    const std::string arguments =
        std::string("exec fi_pingpong -e rdm -p ") + (way == Way::host ? "shm" : "'tcp;ofi_rxm'") + " -I @COUNT@ -S 64";
    Contender one;
    one.name = way == Way::host ? "libfabric, shm" : "libfabric, tcp;ofi_rxm";
    one.version = version_of_package("libfabric-bin");
    one.server = arguments + " -B @PORT@";
    one.ready = Ready::port;
    one.client = arguments + " -P @PORT@ 127.0.0.1";
    one.read = &read_pingpong;
    one.remark = "messages there and back: no call is matched with its reply";
    return one;
}

// A program of peers/; all of them take the same arguments.
Contender echo(const std::string& name, const char* program, const std::string& version, const std::string& address,
               Shape shape) {
    Contender one;
    one.name = name;
    one.version = version;
    one.server = std::string("exec ") + program + " serve " + address;
    one.ready = Ready::output;
    one.client = std::string("exec ") + program + " call " + address + " " + bytes_of(shape) + " " + depth_of(shape) +
                 " @SECONDS@";
    one.read = &read_echo;
    if (shape == Shape::bulk) one.remark = "messages with the bytes in them";
    return one;
}

// Both sides authenticate by the certificates of `make_certificates`.
Contender with_tls(Contender echo) {
    echo.name = "gRPC, TLS";
    const auto with_folder = [](std::string line) { return line.replace(0, 5, "exec env ECHO_TLS=@DIR@/lab "); };
    echo.server = make_certificates + with_folder(echo.server);
    echo.client = with_folder(echo.client);
    return echo;
}

Contender iperf() {
    Contender one;
    one.name = "iperf3, one stream";
    one.version = version_of_package("iperf3");
    one.server = "exec iperf3 -s -1 -B 127.0.0.1 -p @PORT@";
    one.ready = Ready::port;
    one.client = "exec iperf3 -c 127.0.0.1 -p @PORT@ -t 1 -J";
    one.read = &read_iperf;
    one.remark = "a bare stream whose bytes nobody keeps";
    return one;
}

// Echo programs count calls, but a bulk work needs bytes.
double read_echo_bulk(const std::string& output, double seconds) { return read_echo(output, seconds) * (1 << 20); }

void count_bytes(Work& work) {
    for (Contender& each : work.contenders) {
        if (work.unit == "bytes" && each.read == &read_echo) each.read = &read_echo_bulk;
    }
}

// The limit for works over this way; there is none for many calls through shared memory, nor for TLS.
void add_limit(Work& work, Way way, Shape shape) {
    const bool is_there = is_installed(machine_limit_program);
    const auto add = [&](const char* name, const char* remark) {
        work.add(is_there, "the machine's limit", machine_limit(name, remark));
    };
    if (way == Way::host && shape == Shape::call) add("ring", "a record through memory and one back, both ends spin");
    if (way == Way::host && shape == Shape::bulk) add("copy", "process_vm_readv of 1 MiB");
    if (way != Way::tcp) return;
    if (shape == Shape::call) add("call", "as many bytes through a socket and back, both ends spin");
    if (shape == Shape::rate) add("rate", "the same with 64 in flight");
    if (shape == Shape::bulk) add("stream", "a stream of 1 MiB for each system call");
}

Work messages(Way way, Shape shape, std::string name, std::string title) {
    Work work{std::move(name), std::move(title), shape == Shape::bulk ? "bytes" : "calls", {ours(way, shape)}, {}};
    const std::string grpc_at = way == Way::host ? "unix:@DIR@/grpc" : "127.0.0.1:@PORT@";
    const Contender grpc = echo(way == Way::host ? "gRPC, unix socket" : "gRPC, tcp", "compare_grpc_echo",
                                version_of_package("libgrpc++-dev"), grpc_at, shape);
    if (way == Way::tls) {
        work.add(is_installed("compare_grpc_echo"), "gRPC", with_tls(grpc));
        count_bytes(work);
        return work;
    }
    add_limit(work, way, shape);
    const bool has_mercury_echo = is_installed(mercury_echo_program);
    if (has_mercury_echo) work.contenders.push_back(mercury_echo(way, shape));
    if (is_installed("hg_perf_server") || !has_mercury_echo)
        work.add(is_installed("hg_perf_server"), "Mercury", mercury(way, shape));
    if (shape != Shape::rate) work.add(is_installed("ucx_perftest"), "UCX", ucx(way, shape));
    if (shape == Shape::call) work.add(is_installed("fi_pingpong"), "libfabric", pingpong(way));
    if (shape == Shape::bulk && way == Way::tcp) work.add(is_installed("iperf3"), "iperf3", iperf());
    work.add(is_installed("compare_grpc_echo"), "gRPC", grpc);
    const std::string zeromq_at = way == Way::host ? "ipc://@DIR@/zeromq" : "tcp://127.0.0.1:@PORT@";
    work.add(is_installed("compare_zeromq_echo"), "ZeroMQ",
             echo(way == Way::host ? "ZeroMQ, ipc" : "ZeroMQ, tcp", "compare_zeromq_echo",
                  version_of_package("libzmq3-dev"), zeromq_at, shape));
    count_bytes(work);
    return work;
}

}  // namespace

std::vector<Work> all_works() {
    std::vector<Work> works;
    works.push_back(messages(Way::host, Shape::call, "call.host", "A call of 64 bytes and its reply, within a host"));
    works.push_back(messages(Way::tcp, Shape::call, "call.tcp", "A call of 64 bytes and its reply, by TCP"));
    works.push_back(messages(Way::host, Shape::rate, "rate.host", "The same with 64 in flight, within a host"));
    works.push_back(messages(Way::tcp, Shape::rate, "rate.tcp", "The same with 64 in flight, by TCP"));
    works.push_back(messages(Way::host, Shape::bulk, "bulk.host", "1 MiB at a time, 8 in flight, within a host"));
    works.push_back(messages(Way::tcp, Shape::bulk, "bulk.tcp", "1 MiB at a time, 8 in flight, by TCP"));
    works.push_back(messages(Way::tls, Shape::call, "call.tls", "A call of 64 bytes and its reply, by TLS"));
    works.push_back(messages(Way::tls, Shape::rate, "rate.tls", "The same with 64 in flight, by TLS"));
    works.push_back(messages(Way::tls, Shape::bulk, "bulk.tls", "1 MiB at a time, 8 in flight, by TLS"));
    for (Work& work : rdma_works(rdma_device())) works.push_back(std::move(work));
    works.push_back(one_file());
    works.push_back(many_files());
    return works;
}

}  // namespace cinnabar::compare
