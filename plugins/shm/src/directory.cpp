// SPDX-License-Identifier: BSD-3-Clause
// Makes the folder and checks that it belongs to the allowed user or group, takes a name in it, finds the groups that
// may use it, and removes the files of dead processes.
#include "directory.hpp"

#include "local_socket.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/hex.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/base/parse_number.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace cinnabar::shm {
namespace {

constexpr std::string_view lock_ending = ".lock";
constexpr std::string_view socket_ending = ".sock";
// The maximum number of transports of one process that may be named by its process id.
constexpr unsigned own_names_max = 4096;

// Where the folders are. Not in XDG_RUNTIME_DIR, because services outside of a login session have none.
std::string root_path() {
    const char* chosen = ::secure_getenv("CINNABAR_SHM_DIR");
    return chosen && *chosen ? chosen : "/dev/shm";
}

std::string folder_of(const AllowedUsers& allowed) {
    const std::string begin = root_path() + "/cinnabar-";
    return allowed.group ? begin + "group-" + std::to_string(*allowed.group) : begin + std::to_string(allowed.user);
}

// Renames a folder. Returns 0, or -1 with errno: EEXIST or ENOTEMPTY if another process made `to` first.
int move_to_new_name(const std::string& from, const std::string& to) noexcept {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
    // EINVAL: a file system without that flag. On such a file system an empty folder is replaced, which harms nobody.
    return errno == EINVAL ? ::rename(from.c_str(), to.c_str()) : -1;
}

// Makes the folder under another name first: other processes must not find it before it is open to its group.
Result<void> make_folder(const std::string& path, const AllowedUsers& allowed) {
    const auto cannot_make = [&path](int why) {
        return Error(errc_from_errno(why),
                     "making the folder of shared memory (to use another place, set CINNABAR_SHM_DIR)", path, why);
    };
    std::string fresh = path + ".XXXXXX";
    if (!::mkdtemp(fresh.data())) return cannot_make(errno);
    const mode_t mode = allowed.group ? S_ISVTX | S_ISGID | S_IRWXU | S_IRWXG : S_IRWXU;
    const bool shared = !allowed.group || ::chown(fresh.c_str(), static_cast<uid_t>(-1), *allowed.group) == 0;
    const bool open = shared && ::chmod(fresh.c_str(), mode) == 0;
    if (open && move_to_new_name(fresh, path) == 0) return {};
    const int why = errno;
    (void)::rmdir(fresh.c_str());
    if (!open) return Error(errc_from_errno(why), "opening the folder of shared memory to the group", path, why);
    if (why == EEXIST || why == ENOTEMPTY) return {};
    return cannot_make(why);
}

// Locks the folder. If that fails, returns an empty descriptor and sets errno. EWOULDBLOCK: another process did not
// release the lock in time; any member of the folder's group can cause that.
UniqueFd lock_folder(const std::string& path) noexcept {
    constexpr TimeUs patience_us = 1'000'000;  // processes normally hold it for milliseconds
    constexpr int pause_ms = 2;
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    const TimeUs until = steady_clock().now_us() + patience_us;
    while (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        const int why = errno;
        if (why != EINTR && (why != EWOULDBLOCK || steady_clock().now_us() >= until)) {
            fd.reset();
            errno = why;
            return fd;
        }
        (void)::poll(nullptr, 0, pause_ms);
    }
    return fd;
}

// Whether no process holds the lock file.
bool is_dead(const std::string& lock_path) noexcept {
    const UniqueFd fd(::open(lock_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    return fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

void remove_both(const std::string& base) noexcept {
    (void)::unlink((base + std::string(socket_ending)).c_str());
    (void)::unlink((base + std::string(lock_ending)).c_str());
}

std::vector<std::string> names_in(const std::string& path) {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
    while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
        const std::string_view file = entry->d_name;
        if (!file.ends_with(lock_ending)) continue;
        const std::string_view name = file.substr(0, file.size() - lock_ending.size());
        if (good_name(name)) names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

constexpr std::size_t group_bytes_max = 16 * 1024;

// The groups that transports were opened with, so that dialling one of their members needs no look-up of a name.
class KnownGroups {
  public:
    static KnownGroups& of_process() {
        static auto* all = new KnownGroups;  // never destroyed, because static transports may use it
        return *all;
    }
    void add(const std::string& name, gid_t number) {
        const std::lock_guard lock(mutex_);
        if (groups_.size() < groups_max) groups_.insert_or_assign(name, number);
    }
    [[nodiscard]] std::optional<gid_t> find(const std::string& name) {
        const std::lock_guard lock(mutex_);
        const auto at = groups_.find(name);
        return at == groups_.end() ? std::nullopt : std::optional(at->second);
    }

  private:
    static constexpr std::size_t groups_max = 1024;
    std::mutex mutex_;
    std::unordered_map<std::string, gid_t> groups_;
};

std::optional<gid_t> group_in_file(const std::string& name) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/etc/group", "re"), &std::fclose);
    struct group record {};
    struct group* found = nullptr;
    std::vector<char> room(group_bytes_max);
    while (file && ::fgetgrent_r(file.get(), &record, room.data(), room.size(), &found) == 0 && found) {
        if (name == found->gr_name) return found->gr_gid;
    }
    return std::nullopt;
}

template <typename Find>
Result<AllowedUsers> allowed_users_of(const na::Uri& uri, Find&& find) {
    AllowedUsers allowed;
    allowed.user = ::geteuid();
    allowed.group_name = uri.option("group");
    if (allowed.group_name.empty()) return allowed;
    allowed.group = parse_number<gid_t>(allowed.group_name);
    if (!allowed.group) allowed.group = find(allowed.group_name);
    if (!allowed.group) return Error(Errc::bad_address, "no group of that name", allowed.group_name);
    return allowed;
}

}  // namespace

Result<AllowedUsers> AllowedUsers::of(const na::Uri& uri) {
    return allowed_users_of(uri, [](const std::string& name) -> std::optional<gid_t> {
        struct group record {};
        struct group* found = nullptr;
        std::vector<char> room(group_bytes_max);
        (void)::getgrnam_r(name.c_str(), &record, room.data(), room.size(), &found);
        if (!found) return std::nullopt;
        KnownGroups::of_process().add(name, found->gr_gid);
        return found->gr_gid;
    });
}

Result<AllowedUsers> AllowedUsers::of_known(const na::Uri& uri) {
    return allowed_users_of(uri, [](const std::string& name) -> std::optional<gid_t> {
        if (const auto known = KnownGroups::of_process().find(name)) return known;
        return group_in_file(name);
    });
}

NameHolder::NameHolder(NameHolder&& other) noexcept
    : owner_(other.owner_),
      base_(std::exchange(other.base_, {})),
      name_(std::move(other.name_)),
      lock_(std::move(other.lock_)),
      socket_(std::move(other.socket_)) {}

NameHolder& NameHolder::operator=(NameHolder&& other) noexcept {
    if (this == &other) return *this;
    reset();
    owner_ = other.owner_;
    base_ = std::exchange(other.base_, {});
    name_ = std::move(other.name_);
    lock_ = std::move(other.lock_);
    socket_ = std::move(other.socket_);
    return *this;
}

void NameHolder::reset() noexcept {
    socket_.reset();
    // A forked child must not remove the files of its parent.
    if (lock_ && owner_ == ::getpid()) {
        // Without a lock on the folder, another process could lock the file just before it is removed.
        const UniqueFd folder = lock_folder(base_.substr(0, base_.rfind('/')));
        if (folder) remove_both(base_);  // otherwise the next listener removes them, because nobody holds their lock
    }
    lock_.reset();
}

Directory::Directory(AllowedUsers allowed) : allowed_(std::move(allowed)), path_(folder_of(allowed_)) {}

std::string Directory::socket_path(std::string_view name) const {
    return path_ + '/' + std::string(name) + std::string(socket_ending);
}

Result<void> Directory::make() const {
    struct stat status {};
    if (::lstat(path_.c_str(), &status) != 0) CINNABAR_TRY_VOID(make_folder(path_, allowed_));
    if (::lstat(path_.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
        return Error(Errc::permission,
                     "the folder of shared memory is not a folder: remove it, or set CINNABAR_SHM_DIR to another "
                     "place",
                     path_);
    }
    // Another user may have created the folder first.
    const bool ours = allowed_.group ? status.st_gid == *allowed_.group : status.st_uid == allowed_.user;
    if (!ours) {
        return Error(Errc::permission,
                     "the folder of shared memory belongs to another user or group: have it removed, or set "
                     "CINNABAR_SHM_DIR to another place",
                     path_ + ", of user " + std::to_string(status.st_uid) + ", group " + std::to_string(status.st_gid));
    }
    const mode_t others = allowed_.group ? S_IRWXO : S_IRWXG | S_IRWXO;
    if ((status.st_mode & others) != 0) {
        return Error(Errc::permission,
                     "other users have access to the folder of shared memory: remove their permissions", path_);
    }
    return {};
}

void Directory::sweep() {
    for (const std::string& name : names_in(path_)) {
        const std::string base = path_ + '/' + name;
        if (!is_dead(base + std::string(lock_ending))) continue;
        remove_both(base);
        ++swept_;
    }
}

Errc Directory::take(std::string_view name, NameHolder& out) const {
    const std::string base = path_ + '/' + std::string(name);
    const mode_t mode = allowed_.group ? S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP : S_IRUSR | S_IWUSR;
    UniqueFd lock(::open((base + std::string(lock_ending)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!lock) return errc_from_errno(errno);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return Errc::address_in_use;
    const std::string path = base + std::string(socket_ending);
    (void)::unlink(path.c_str());
    UniqueFd socket = listen_at(path, mode);
    if (!socket) {
        const Errc why = errc_from_errno(errno);
        (void)::unlink((base + std::string(lock_ending)).c_str());
        return why == Errc::ok ? Errc::io : why;
    }
    out.owner_ = ::getpid();
    out.base_ = base;
    out.name_ = name;
    out.lock_ = std::move(lock);
    // Any member of a group may connect and send descriptors, which are closed with this socket.
    out.socket_ = PeerFd::passed(std::move(socket), allowed_.group ? anybody : ::geteuid());
    return Errc::ok;
}

Result<NameHolder> Directory::listen(std::string_view name) {
    CINNABAR_TRY_VOID(make());
    const UniqueFd folder = lock_folder(path_);
    if (!folder && errno == EWOULDBLOCK) {
        return Error(Errc::busy, "another process keeps the folder of shared memory locked", path_);
    }
    if (!folder) return Error(Errc::io, "locking the folder of shared memory", path_, errno);
    sweep();
    NameHolder holder;
    const std::string own = std::to_string(::getpid());
    Errc taken = name.empty() ? take(own, holder) : take(name, holder);
    for (unsigned i = 2; name.empty() && taken == Errc::address_in_use && i < own_names_max; ++i) {
        taken = take(own + '-' + std::to_string(i), holder);
    }
    if (taken == Errc::address_in_use) {
        return Error(taken, "another process listens under that name", std::string(name));
    }
    if (taken != Errc::ok) return Error(taken, "making a socket in the folder of shared memory", path_);
    return holder;
}

std::string Directory::tag() const {
    struct stat status {};
    if (::stat(path_.c_str(), &status) != 0) return {};
    std::array<char, 36> boot{};  // a random UUID
    const UniqueFd fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    if (!fd || ::read(fd.get(), boot.data(), boot.size()) != static_cast<ssize_t>(boot.size())) return {};
    std::uint64_t hash = status.st_dev * 0x9e3779b97f4a7c15u ^ status.st_ino;
    for (const char digit : boot) hash = (hash ^ static_cast<unsigned char>(digit)) * 0x100000001b3u;
    return to_hex(hash);
}

bool Directory::has(std::string_view name) const { return ::access(socket_path(name).c_str(), R_OK | W_OK) == 0; }

std::vector<Directory::Entry> Directory::entries() const {
    std::vector<Entry> entries;
    const UniqueFd folder = lock_folder(path_);
    if (!folder) return entries;
    for (std::string& name : names_in(path_)) {
        const bool dead = is_dead(path_ + '/' + name + std::string(lock_ending));
        entries.push_back({std::move(name), !dead});
    }
    return entries;
}

}  // namespace cinnabar::shm
