// SPDX-License-Identifier: BSD-3-Clause
#include "save_tree.hpp"

#include "../harness/child.hpp"
#include "../harness/scratch.hpp"

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

class OurTreeSave : public Subject {
  public:
    OurTreeSave(Cores cores, const std::string& tool, const fs::path& source, const fs::path& root,
                const std::vector<std::string>& more)
        : target_(root / source.filename()),
          save_{tool, "save", "--quiet", "--insecure"},
          server_({tool, "serve", "--root", root.string(), "--insecure", "--listen", "tcp://127.0.0.1:0"},
                  cores.server) {
        const auto& line = server_.first_line();
        save_.insert(save_.end(), more.begin(), more.end());
        save_.push_back(source.string());
        save_.push_back(line.substr(line.find_last_of(' ') + 1));
    }

    Slice run_slice(std::chrono::milliseconds) override {
        Slice slice;
        const auto begin = seconds_now();
        run_command(save_);
        slice.seconds = seconds_now() - begin;
        slice.work = static_cast<double>(count_files(target_));
        fs::remove_all(target_);
        return slice;
    }

  private:
    fs::path target_;
    std::vector<std::string> save_;
    Daemon server_;
};

}  // namespace

std::unique_ptr<Subject> make_our_tree_save(Cores cores, std::string tool, const fs::path& source,
                                            const fs::path& target_root, const std::vector<std::string>& more) {
    return std::make_unique<OurTreeSave>(cores, tool, source, target_root, more);
}

}  // namespace cinnabar::bench
