// SPDX-License-Identifier: BSD-3-Clause
#include "save.hpp"

#include "../harness/child.hpp"
#include "block_writer.hpp"
#include "tcp_pair.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error{what + ": " + std::strerror(errno)}; }

// What the client sends first, and what both sides exchange last.
struct Announcement {
    std::uint64_t bytes;
    std::uint64_t address = 0;  // copied: where it is in the client
    std::int64_t pid = 0;
};
template <typename T>
std::byte* bytes_of(T& value) {
    return reinterpret_cast<std::byte*>(&value);
}

void receive_file(int fd, Duties duties, const fs::path& root) {
    Announcement announced{};
    receive_all(fd, bytes_of(announced), sizeof announced, Wait::block);
    const auto half = root / "bare.part";
    const UniqueFd file{open(half.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    if (!file) fail("open");
    BlockWriter writer{file.get(), duties != Duties::sendfile};
    for (std::uint64_t left = announced.bytes; left > 0;) {
        const auto bytes = std::min<std::uint64_t>(left, block_bytes);
        if (duties == Duties::copied) {
            const iovec local{writer.take(), bytes};
            const iovec remote{reinterpret_cast<void*>(announced.address + announced.bytes - left), bytes};
            if (process_vm_readv(static_cast<pid_t>(announced.pid), &local, 1, &remote, 1, 0) !=
                static_cast<ssize_t>(bytes)) {
                fail("process_vm_readv");
            }
        } else {
            receive_all(fd, writer.take(), bytes, Wait::block);
        }
        writer.put(bytes);
        left -= bytes;
    }
    std::uint64_t sum = writer.finish();
    std::uint64_t claimed = 0;
    receive_all(fd, bytes_of(claimed), sizeof claimed, Wait::block);
    if (duties != Duties::sendfile && sum != claimed) throw std::runtime_error{"the sums differ"};
    if (fsync(file.get()) != 0) fail("fsync");
    fs::rename(half, root / "bare");
    send_all(fd, bytes_of(sum), sizeof sum, Wait::block);
}

void send_hashed(int fd, int file, std::uint64_t bytes) {
    void* map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) fail("mmap");
    madvise(map, bytes, MADV_SEQUENTIAL);
    const auto* from = static_cast<const std::byte*>(map);
    Xxh3 sum;
    for (std::uint64_t at = 0; at < bytes; at += block_bytes) {
        const auto count = std::min<std::uint64_t>(bytes - at, block_bytes);
        sum.update(from + at, count);
        send_all(fd, from + at, count, Wait::block);
    }
    auto digest = sum.digest();
    send_all(fd, bytes_of(digest), sizeof digest, Wait::block);
}

void lend_file(int fd, int file, Announcement announced) {
    void* map = mmap(nullptr, announced.bytes, PROT_READ, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) fail("mmap");
    madvise(map, announced.bytes, MADV_SEQUENTIAL);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    announced.address = reinterpret_cast<std::uintptr_t>(map);
    announced.pid = getpid();
    send_all(fd, bytes_of(announced), sizeof announced, Wait::block);
    Xxh3 sum;
    for (std::uint64_t at = 0; at < announced.bytes; at += block_bytes) {
        sum.update(static_cast<const std::byte*>(map) + at, std::min<std::uint64_t>(announced.bytes - at, block_bytes));
    }
    auto digest = sum.digest();
    send_all(fd, bytes_of(digest), sizeof digest, Wait::block);
    std::uint64_t done = 0;
    receive_all(fd, bytes_of(done), sizeof done, Wait::block);
}

void send_by_kernel(int fd, int file, std::uint64_t bytes) {
    for (off_t at = 0; static_cast<std::uint64_t>(at) < bytes;) {
        if (sendfile(fd, file, &at, bytes - static_cast<std::uint64_t>(at)) <= 0) fail("sendfile");
    }
    std::uint64_t no_sum = 0;
    send_all(fd, bytes_of(no_sum), sizeof no_sum, Wait::block);
}

void send_file(std::uint16_t port, Duties duties, const fs::path& source) {
    const UniqueFd file{open(source.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!file) fail("open");
    Announcement announced{fs::file_size(source)};
    const auto fd = dial(port);
    if (duties == Duties::copied) return lend_file(fd.get(), file.get(), announced);
    send_all(fd.get(), bytes_of(announced), sizeof announced, Wait::block);
    if (duties == Duties::hashed) {
        send_hashed(fd.get(), file.get(), announced.bytes);
    } else {
        send_by_kernel(fd.get(), file.get(), announced.bytes);
    }
    std::uint64_t done = 0;
    receive_all(fd.get(), bytes_of(done), sizeof done, Wait::block);
}

class BareSave : public Subject {
  public:
    BareSave(Cores cores, Duties duties, fs::path source, fs::path root)
        : duties_(duties),
          source_(std::move(source)),
          target_(root / "bare"),
          partner_(cores.server, [&](PartnerSide& side) {
              const auto listener = listen_on_loopback();
              side.announce(std::to_string(port_of(listener.get())));
              while (side.wait_slice()) {
                  receive_file(accept_from(listener.get()).get(), duties, root);
                  side.end_slice();
              }
          }) {}

    Slice run_slice(std::chrono::milliseconds) override {
        const auto port = static_cast<std::uint16_t>(std::stoul(partner_.announced()));
        const auto slice = measure(partner_, [&] {
            run_forked([&] { send_file(port, duties_, source_); });
            return static_cast<double>(fs::file_size(target_));
        });
        fs::remove(target_);
        return slice;
    }

  private:
    Duties duties_;
    fs::path source_;
    fs::path target_;
    Partner partner_;
};

class CopyCommand : public Subject {
  public:
    CopyCommand(fs::path source, const fs::path& root) : source_(std::move(source)), target_(root / "copied") {}
    Slice run_slice(std::chrono::milliseconds) override {
        Slice slice;
        const auto begin = seconds_now();
        const double used = cpu_seconds_of_children();
        run_command({"cp", source_.string(), target_.string()});
        slice.seconds = seconds_now() - begin;
        slice.client.cpu_seconds = cpu_seconds_of_children() - used;
        slice.work = static_cast<double>(fs::file_size(source_));
        fs::remove(target_);
        return slice;
    }

  private:
    fs::path source_;
    fs::path target_;
};

}  // namespace

std::unique_ptr<Subject> make_bare_save(Cores cores, Duties duties, fs::path source, fs::path target_root) {
    return std::make_unique<BareSave>(cores, duties, std::move(source), std::move(target_root));
}

std::unique_ptr<Subject> make_copy_command(fs::path source, const fs::path& target_root) {
    return std::make_unique<CopyCommand>(std::move(source), target_root);
}

}  // namespace cinnabar::bench
