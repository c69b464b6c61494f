// SPDX-License-Identifier: BSD-3-Clause
#include "../harness/child.hpp"
#include "block_writer.hpp"
#include "verbs.hpp"
#include "verbs_end.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <vector>

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;
constexpr VerbsShape save_shape{64, 4 * blocks_in_flight};

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error{what + ": " + std::strerror(errno)}; }

// The first message of the client.
struct Announcement {
    FileMove move;
    std::uint64_t bytes;
    RemoteBlock file;  // pull: the memory of the file
};
// push: a buffer of the server that may be written to. The grant after the last block means that the file is saved.
using Grant = RemoteBlock;

// The server's side of one file.
class Receiver {
  public:
    Receiver(VerbsEnd& end, const Announcement& announced, int file)
        : end_(end), announced_(announced), writer_(file, false) {
        const auto memory = writer_.memory();
        const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
        key_ = &end.pin(memory.data(), memory.size(), access);
    }

    void run() {
        for (std::uint64_t arrived = 0; arrived < announced_.bytes;) {
            while (asked_ < announced_.bytes) {
                std::byte* const buffer = writer_.take_if_free();
                if (buffer == nullptr) break;
                ask(buffer);
            }
            if (asked_ == arrived) ask(writer_.take());
            const auto event = end_.next(Wait::block);
            if (event.what != VerbsEnd::What::notified && event.what != VerbsEnd::What::moved) continue;
            const auto bytes = std::min<std::uint64_t>(announced_.bytes - arrived, block_bytes);
            writer_.put(bytes);
            arrived += bytes;
        }
        (void)writer_.finish();
    }

  private:
    // Requests the next block into `buffer`.
    void ask(std::byte* buffer) {
        const auto bytes = std::min<std::uint64_t>(announced_.bytes - asked_, block_bytes);
        if (announced_.move == FileMove::push) {
            end_.send_value(Grant{reinterpret_cast<std::uintptr_t>(buffer), key_->rkey});
        } else {
            end_.read(*key_, buffer, bytes, {announced_.file.address + asked_, announced_.file.key});
        }
        asked_ += bytes;
    }

    VerbsEnd& end_;
    const Announcement announced_;
    BlockWriter writer_;
    const ibv_mr* key_ = nullptr;
    std::uint64_t asked_ = 0;  // of the file, from its beginning
};

VerbsEnd::Event next_message(VerbsEnd& end) {
    for (;;) {
        const auto event = end.next(Wait::block);
        if (event.what == VerbsEnd::What::received) return event;
    }
}

void receive_file(VerbsEnd& end, const fs::path& root) {
    const auto announced = next_message(end).as<Announcement>();
    const auto half = root / "bare.part";
    const UniqueFd file{open(half.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    if (!file) fail("open");
    Receiver{end, announced, file.get()}.run();
    if (fsync(file.get()) != 0) fail("fsync");
    fs::rename(half, root / "bare");
    end.send_value(Grant{});
}

// The file, mapped while this object exists.
class Mapped {
  public:
    explicit Mapped(const fs::path& path) : bytes_(fs::file_size(path)) {
        const UniqueFd file{open(path.c_str(), O_RDWR | O_CLOEXEC)};
        if (!file) fail("open");
        // Writable and shared, since registering fails otherwise: kernels up to 6.1 pin every page as if it were
        // written to.
        at_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        if (at_ == MAP_FAILED) fail("mmap");
    }
    ~Mapped() { munmap(at_, bytes_); }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    [[nodiscard]] std::byte* at() const noexcept { return static_cast<std::byte*>(at_); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  private:
    std::size_t bytes_;
    void* at_ = nullptr;
};

void push_blocks(VerbsEnd& end, const Mapped& file, const ibv_mr& key) {
    for (std::size_t at = 0; at < file.bytes();) {
        const auto grant = next_message(end).as<Grant>();
        const auto bytes = std::min(file.bytes() - at, block_bytes);
        end.write_and_notify(key, file.at() + at, bytes, grant, static_cast<std::uint32_t>(at / block_bytes));
        at += bytes;
    }
}

void send_file(const std::string& host, std::uint16_t port, FileMove move, const fs::path& source) {
    const Mapped file{source};
    VerbsEnd end{host, port, save_shape};
    const auto& key = end.pin(file.at(), file.bytes(), move == FileMove::pull ? IBV_ACCESS_REMOTE_READ : 0);
    end.send_value(Announcement{move, file.bytes(), {reinterpret_cast<std::uintptr_t>(file.at()), key.rkey}});
    if (move == FileMove::push) push_blocks(end, file, key);
    (void)next_message(end);
}

class VerbsSave : public Subject {
  public:
    VerbsSave(Cores cores, std::string host, FileMove move, fs::path source, fs::path root)
        : host_(std::move(host)),
          move_(move),
          source_(std::move(source)),
          target_(root / "bare"),
          partner_(cores.server, [&](PartnerSide& side) {
              const VerbsListener listener{host_};
              side.announce(std::to_string(listener.port()));
              while (side.wait_slice()) {
                  VerbsEnd end{listener, save_shape};
                  receive_file(end, root);
                  side.end_slice();
              }
          }) {}

    Slice run_slice(std::chrono::milliseconds) override {
        const auto port = static_cast<std::uint16_t>(std::stoul(partner_.announced()));
        const auto slice = measure(partner_, [&] {
            run_forked([&] { send_file(host_, port, move_, source_); });
            return static_cast<double>(fs::file_size(target_));
        });
        fs::remove(target_);
        return slice;
    }

  private:
    std::string host_;
    FileMove move_;
    fs::path source_;
    fs::path target_;
    Partner partner_;
};

}  // namespace

std::unique_ptr<Subject> make_verbs_save(Cores cores, const std::string& host, FileMove move, fs::path source,
                                         const fs::path& target_root) {
    return std::make_unique<VerbsSave>(cores, host, move, std::move(source), target_root);
}

}  // namespace cinnabar::bench
