// SPDX-License-Identifier: BSD-3-Clause
#include "launch/child.hpp"

#include <cinnabar/files/file_error.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace cinnabar::tools::launch {
namespace {

struct Pipe {
    UniqueFd read;
    UniqueFd write;
};

// Returns a descriptor above 2 for the same file. If this process runs without stdin, stdout or stderr, a file that it
// opens may get the number 0, 1 or 2; but these numbers must be the standard streams of the new process.
Result<UniqueFd> above_standard(UniqueFd fd) {
    if (fd.get() > STDERR_FILENO) return fd;
    UniqueFd higher(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!higher) return files::file_error(errno, "cannot make a descriptor", {});
    return higher;
}

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return files::file_error(errno, "cannot make a pipe", {});
    UniqueFd from(ends[0]);
    UniqueFd to(ends[1]);
    CINNABAR_TRY(UniqueFd read, above_standard(std::move(from)));
    CINNABAR_TRY(UniqueFd write, above_standard(std::move(to)));
    return Pipe{std::move(read), std::move(write)};
}

Result<UniqueFd> no_input() {
    UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null) return files::file_error(errno, "cannot open", "/dev/null");
    return above_standard(std::move(null));
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
    std::vector<std::string> all = variables;
    for (char** each = environ; *each; ++each) {
        const std::string_view name = std::string_view(*each).substr(0, std::string_view(*each).find('=') + 1);
        bool known = false;
        for (const std::string& variable : variables) known = known || variable.starts_with(name);
        if (!known) all.emplace_back(*each);
    }
    return all;
}

// Everything that the new process needs, prepared before the fork: after it, only async-signal-safe calls are allowed.
struct Image {
    char* const* words;
    char* const* environment;
    int in;
    int out;  // -1: inherits that of this process
    int err;
    int failed;  // receives errno if the program cannot be started
    int parent;
    const rlimit* descriptors;  // null: stays as it is
};

[[noreturn]] void become(const Image& image) noexcept {
    (void)::setpgid(0, 0);
    (void)::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != image.parent) ::_exit(1);  // the parent has already ended
    sigset_t none;
    sigemptyset(&none);
    (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
    (void)::signal(SIGPIPE, SIG_DFL);
    if (image.descriptors) (void)::setrlimit(RLIMIT_NOFILE, image.descriptors);
    const bool placed = ::dup2(image.in, 0) >= 0 && (image.out < 0 || ::dup2(image.out, 1) >= 0) &&
                        (image.err < 0 || ::dup2(image.err, 2) >= 0);
    if (placed) ::execvpe(image.words[0], image.words, image.environment);
    const int error = errno;
    (void)!::write(image.failed, &error, sizeof error);
    ::_exit(127);
}

}  // namespace

Result<Child> start(const ChildOptions& options) {
    Pipe in;
    Pipe out;
    Pipe err;
    CINNABAR_TRY(Pipe failed, make_pipe());
    if (options.takes_input) {
        CINNABAR_TRY(in, make_pipe());
    } else {
        CINNABAR_TRY(in.read, no_input());
    }
    if (options.gives_output) {
        CINNABAR_TRY(out, make_pipe());
        CINNABAR_TRY(err, make_pipe());
        (void)::fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
        (void)::fcntl(err.read.get(), F_SETFL, O_NONBLOCK);
    }
    std::vector<std::string> words = options.words;
    std::vector<std::string> environment = environment_with(options.variables);
    const std::vector<char*> word_pointers = pointers_to(words);
    const std::vector<char*> environment_pointers = pointers_to(environment);
    const Image image{.words = word_pointers.data(),
                      .environment = environment_pointers.data(),
                      .in = in.read.get(),
                      .out = out.write.get(),
                      .err = err.write.get(),
                      .failed = failed.write.get(),
                      .parent = ::getpid(),
                      .descriptors = options.descriptors ? &*options.descriptors : nullptr};
    const pid_t pid = ::fork();
    if (pid < 0) return files::file_error(errno, "cannot start a process", {});
    if (pid == 0) become(image);
    (void)::setpgid(pid, pid);
    failed.write.reset();
    int error = 0;
    if (::read(failed.read.get(), &error, sizeof error) == sizeof error)
        return files::file_error(error, "cannot start the program", options.words.front());
    Child child;
    child.pid = pid;
    child.in = std::move(in.write);
    child.out = std::move(out.read);
    child.err = std::move(err.read);
    return child;
}

}  // namespace cinnabar::tools::launch
