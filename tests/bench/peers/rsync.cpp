// SPDX-License-Identifier: BSD-3-Clause
#include "rsync.hpp"

#include "../limits/tcp_pair.hpp"

#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

// rsync does not accept a port of the system's choice, so this is a port that was free a moment ago.
std::uint16_t free_port() {
    const auto listener = listen_on_loopback();
    return port_of(listener.get());
}

bool can_connect(std::uint16_t port) {
    try {
        (void)dial(port);
        return true;
    } catch (const std::runtime_error&) {
        return false;
    }
}

}  // namespace

bool has_rsync() { return std::system("rsync --version >/dev/null 2>&1") == 0; }

RsyncDaemon::RsyncDaemon(Cores cores, const std::filesystem::path& root)
    : port_(free_port()),
      daemon_({"sh", "-c",
               "echo started; exec rsync --daemon --no-detach --address=127.0.0.1 --port=" + std::to_string(port_) +
                   " --config=" + write_configuration(root)},
              cores.server) {
    for (int tries = 0; !can_connect(port_); ++tries) {
        if (tries > 5000) throw std::runtime_error{"rsync's daemon does not come up"};
        (void)poll(nullptr, 0, 1);
    }
}

std::string RsyncDaemon::url() const { return "rsync://127.0.0.1:" + std::to_string(port_) + "/there/"; }

std::string RsyncDaemon::write_configuration(const std::filesystem::path& root) const {
    const auto path = root.parent_path() / ("rsyncd-" + std::to_string(port_) + ".conf");
    // A daemon without chroot would change the target of each symbolic link, unless told not to.
    std::ofstream(path) << "use chroot = no\nmunge symlinks = no\nlog file = /dev/null\n[there]\npath = "
                        << root.string() << "\nread only = no\nuid = " << getuid() << "\ngid = " << getgid() << '\n';
    return path.string();
}

}  // namespace cinnabar::bench
