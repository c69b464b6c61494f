// SPDX-License-Identifier: BSD-3-Clause
#include "file_moves.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/cinnabar.hpp>

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

constexpr Rpc<std::uint64_t(Bulk)> keep{"bench.keep_file"};
constexpr std::chrono::seconds call_time{60};

UniqueFd open_file(const fs::path& path, int mode) {
    UniqueFd file{::open(path.c_str(), mode | O_CLOEXEC, 0644)};
    if (!file) throw std::runtime_error{"cannot open " + path.string()};
    return file;
}

void serve(PartnerSide& side, const Node& node) {
    side.announce(node.address());
    while (side.wait_slice()) {
        while (side.running()) (void)::poll(nullptr, 0, 1);
        side.end_slice();
    }
}

Task<Result<std::uint64_t>> pull_pieces(Request<Bulk> request, bulk::Region into) {
    std::uint64_t done = 0;
    while (done < request->size()) {
        CINNABAR_CO_TRY(const std::uint64_t moved, co_await request->pull(into, {.offset = done}));
        done += moved;
    }
    co_return done;
}

void serve_memory(PartnerSide& side, std::size_t room_bytes) {
    const auto node = Node::listen("tcp://127.0.0.1:0").value();
    const bulk::Region room = node.allocate(room_bytes).value();
    node.serve(keep, [&room](Request<Bulk> request) { return pull_pieces(std::move(request), room); }).value();
    serve(side, node);
}

Task<Result<std::uint64_t>> pull_to_file(Request<Bulk> request, fs::path path) {
    const UniqueFd file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
    CINNABAR_CO_TRY(const bulk::Region into, bulk::Region::of_file(file.get(), 0, request->size(), na::Access::write));
    co_return co_await request->pull(into);
}

void serve_file(PartnerSide& side, const fs::path& target, Wire wire) {
    const auto node = Node::listen(wire == Wire::shm ? "shm://" : "tcp://127.0.0.1:0").value();
    node.serve(keep, [&target](Request<Bulk> request) { return pull_to_file(std::move(request), target); }).value();
    serve(side, node);
}

class FileMove final : public Subject {
  public:
    FileMove(Cores cores, const fs::path& source, fs::path target, Wire wire,
             const std::function<void(PartnerSide&)>& body)
        : file_(open_file(source, O_RDONLY)),
          bytes_(fs::file_size(source)),
          target_(std::move(target)),
          partner_(cores.server, body),
          node_(Node::open(wire == Wire::shm ? "shm://" : "tcp://").value()),
          peer_(node_.lookup(partner_.announced()).value()) {}

    Slice run_slice(std::chrono::milliseconds) override {
        const Slice slice = measure(partner_, [&] { return call(); });
        if (!target_.empty()) fs::remove(target_);
        return slice;
    }

  private:
    double call() {
        const auto region = bulk::Region::of_file(file_.get(), 0, bytes_, na::Access::read).value();
        const auto moved = node_.call(keep, peer_, region, call_time).wait();
        if (!moved) throw std::runtime_error{"a file was not moved: " + moved.error().message()};
        return static_cast<double>(*moved);
    }
    UniqueFd file_;
    std::uint64_t bytes_;
    fs::path target_;
    Partner partner_;
    Node node_;
    Addr peer_;
};

}  // namespace

std::unique_ptr<Subject> make_file_send(Cores cores, fs::path source, std::size_t room_bytes) {
    return std::make_unique<FileMove>(cores, source, fs::path(), Wire::tcp,
                                      [room_bytes](PartnerSide& side) { serve_memory(side, room_bytes); });
}

std::unique_ptr<Subject> make_file_copy(Cores cores, fs::path source, fs::path folder, Wire wire) {
    const fs::path target = folder / "pulled";
    return std::make_unique<FileMove>(cores, source, target, wire,
                                      [target, wire](PartnerSide& side) { serve_file(side, target, wire); });
}

}  // namespace cinnabar::bench
