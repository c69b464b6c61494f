// SPDX-License-Identifier: BSD-3-Clause
#include "file_movers.hpp"

#include "installed.hpp"

#include <unistd.h>

namespace cinnabar::compare {
namespace {

double read_file(const std::string&, double seconds) { return static_cast<double>(file_bytes) / seconds; }
double read_folder(const std::string&, double seconds) { return static_cast<double>(folder_files) / seconds; }

using Reader = double (*)(const std::string&, double);

Contender ours(const char* scheme, const std::string& source, Reader read) {
    const std::string uri = std::string(scheme) == "shm" ? "shm://compare-@PORT@" : "tcp://127.0.0.1:@PORT@";
    Contender one;
    one.is_ours = true;
    one.name = std::string("Cinnabar, ") + scheme;
    one.version = CINNABAR_VERSION;
    one.server = "mkdir -p @DIR@/there && exec cinnabar serve --root @DIR@/there --insecure --listen " + uri;
    one.ready = Ready::output;
    one.client = "exec cinnabar save --insecure --quiet " + source + " " + uri;
    one.read = read;
    return one;
}

Contender rsync(const std::string& source, Reader read) {
    const std::string user = std::to_string(::getuid());
    const std::string group = std::to_string(::getgid());
    Contender one;
    one.name = "rsync, its daemon";
    one.version = version_of_package("rsync");
    one.server =
        "mkdir -p @DIR@/there && printf 'use chroot = no\\nlog file = /dev/null\\n[there]\\npath = "
        "@DIR@/there\\nread only = no\\nuid = " +
        user + "\\ngid = " + group +
        "\\n' >@DIR@/conf && exec rsync --daemon --no-detach --address=127.0.0.1 --port=@PORT@ "
        "--config=@DIR@/conf";
    one.ready = Ready::port;
    one.client = "exec rsync -a --whole-file " + source + " rsync://127.0.0.1:@PORT@/there/";
    one.read = read;
    one.remark = "not encrypted";
    return one;
}

Contender scp(const std::string& source, Reader read) {
    Contender one;
    one.name = "scp, its own sshd";
    one.version = version_of_package("openssh-server");
    one.server =
        "mkdir -p @DIR@/there && chmod 700 @DIR@ && ssh-keygen -q -t ed25519 -N '' -f @DIR@/host && "
        "ssh-keygen -q -t ed25519 -N '' -f @DIR@/user && { [ \"$(id -u)\" != 0 ] || mkdir -p /run/sshd; } && "
        "exec \"$(command -v sshd)\" -D -f /dev/null -p @PORT@ -h @DIR@/host -o ListenAddress=127.0.0.1 -o "
        "PidFile=none -o StrictModes=no "
        "-o UsePAM=no -o AuthorizedKeysFile=@DIR@/user.pub -o 'Subsystem=sftp internal-sftp'";
    one.ready = Ready::port;
    one.client =
        "exec scp -q -r -P @PORT@ -i @DIR@/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
        "-o LogLevel=ERROR -F /dev/null " +
        source + " 127.0.0.1:@DIR@/there/";
    one.read = read;
    one.remark = "encrypted; a login is in the time";
    return one;
}

Contender cp(const std::string& source, Reader read) {
    Contender one;
    one.name = "cp";
    one.version = version_of_package("coreutils");
    one.client = "mkdir -p @DIR@/there && exec cp -r " + source + " @DIR@/there/";
    one.read = read;
    one.remark = "no network: what the file system allows";
    return one;
}

Work moved_by_all(Work work, const std::string& source, Reader read) {
    work.contenders = {ours("tcp", source, read), ours("shm", source, read)};
    work.add(is_installed("rsync"), "rsync", rsync(source, read));
    work.add(is_installed("sshd") && is_installed("scp"), "scp", scp(source, read));
    work.add(true, "cp", cp(source, read));
    return work;
}

}  // namespace

Work one_file() {
    return moved_by_all({"file", "A file of 256 MiB, tmpfs to tmpfs, process start and all", "bytes", {}, {}},
                        std::string("@FROM@/") + file_name, &read_file);
}

Work many_files() {
    return moved_by_all({"files", "2,000 files of 4 KiB, tmpfs to tmpfs, process start and all", "files", {}, {}},
                        std::string("@FROM@/") + folder_name, &read_folder);
}

}  // namespace cinnabar::compare
