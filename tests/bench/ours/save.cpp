// SPDX-License-Identifier: BSD-3-Clause
#include "save.hpp"

#include "../harness/child.hpp"

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

class OurSave : public Subject {
  public:
    OurSave(Cores cores, std::string tool, fs::path source, const fs::path& root, const std::string& listen)
        : tool_(std::move(tool)),
          source_(std::move(source)),
          target_(root / source_.filename()),
          server_({tool_, "serve", "--root", root.string(), "--listen", listen}, cores.server) {
        // "listening on tcp://127.0.0.1:40001"
        const auto& line = server_.first_line();
        address_ = line.substr(line.find_last_of(' ') + 1);
    }

    Slice run_slice(std::chrono::milliseconds) override {
        Slice slice;
        const auto begin = seconds_now();
        run_command({tool_, "save", "--quiet", source_.string(), address_});
        slice.seconds = seconds_now() - begin;
        slice.work = static_cast<double>(fs::file_size(target_));
        fs::remove(target_);
        return slice;
    }

  private:
    std::string tool_;
    fs::path source_;
    fs::path target_;
    Daemon server_;
    std::string address_;
};

}  // namespace

std::unique_ptr<Subject> make_our_save(Cores cores, std::string tool, fs::path source, const fs::path& target_root,
                                       const std::string& listen) {
    return std::make_unique<OurSave>(cores, std::move(tool), std::move(source), target_root, listen);
}

}  // namespace cinnabar::bench
