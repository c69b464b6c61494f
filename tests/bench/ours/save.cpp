// SPDX-License-Identifier: BSD-3-Clause
#include "save.hpp"

#include "../harness/child.hpp"

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

class OurSave : public Subject {
  public:
    OurSave(Cores cores, std::string tool, fs::path source, const fs::path& root, const std::string& listen,
            const std::vector<std::string>& more)
        : tool_(std::move(tool)),
          source_(std::move(source)),
          target_(root / source_.filename()),
          save_{tool_, "save", "--quiet", "--insecure"},
          server_({tool_, "serve", "--root", root.string(), "--insecure", "--listen", listen}, cores.server) {
        // "listening on tcp://127.0.0.1:40001"
        const auto& line = server_.first_line();
        save_.insert(save_.end(), more.begin(), more.end());
        save_.push_back(source_.string());
        save_.push_back(line.substr(line.find_last_of(' ') + 1));
    }

    Slice run_slice(std::chrono::milliseconds) override {
        Slice slice;
        const auto begin = seconds_now();
        run_command(save_);
        slice.seconds = seconds_now() - begin;
        slice.work = static_cast<double>(fs::file_size(target_));
        fs::remove(target_);
        return slice;
    }

  private:
    std::string tool_;
    fs::path source_;
    fs::path target_;
    std::vector<std::string> save_;
    Daemon server_;
};

}  // namespace

std::unique_ptr<Subject> make_our_save(Cores cores, std::string tool, fs::path source, const fs::path& target_root,
                                       const std::string& listen, const std::vector<std::string>& more) {
    return std::make_unique<OurSave>(cores, std::move(tool), std::move(source), target_root, listen, more);
}

}  // namespace cinnabar::bench
