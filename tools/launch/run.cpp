// SPDX-License-Identifier: BSD-3-Clause
// Starts the processes, forwards signals and output until all have ended, and terminates them together. One thread.
#include "commands/descriptors.hpp"
#include "launch/child.hpp"
#include "launch/command.hpp"
#include "launch/hosts.hpp"
#include "launch/labels.hpp"
#include "terminal/report.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/file_error.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <list>
#include <optional>

namespace cinnabar::tools::launch {
namespace {

using Clock = std::chrono::steady_clock;

// Receives signals through a signalfd during the launch, so that they are handled in order.
class Signals {
  public:
    Signals() {
        sigset_t set;
        sigemptyset(&set);
        for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) sigaddset(&set, each);
        (void)::sigprocmask(SIG_BLOCK, &set, nullptr);
        (void)::signal(SIGPIPE, SIG_IGN);
        fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    // 0: no signal is pending.
    [[nodiscard]] int next() const {
        signalfd_siginfo happened{};
        return ::read(fd_.get(), &happened, sizeof happened) == sizeof happened ? static_cast<int>(happened.ssi_signo)
                                                                                : 0;
    }

  private:
    UniqueFd fd_;
};

// A temporary folder, removed by the destructor.
class OwnFolder {
  public:
    static Result<OwnFolder> make() {
        std::error_code failed;
        std::string path = (std::filesystem::temp_directory_path(failed) / "cinnabar-launch.XXXXXX").string();
        if (!failed && !::mkdtemp(path.data())) failed.assign(errno, std::generic_category());
        if (failed) return files::file_error(failed.value(), "cannot make a folder", path);
        return OwnFolder(std::move(path));
    }
    OwnFolder(OwnFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    OwnFolder& operator=(OwnFolder&&) = delete;
    ~OwnFolder() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    explicit OwnFolder(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

// Raises this process's limit of open files, and returns the earlier limit. The programs that are started get the
// earlier limit, because programs that use select() rely on a low limit.
std::optional<rlimit> raise_own_limit() {
    rlimit before{};
    if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return {};
    (void)raise_descriptor_limit();
    return before;
}

struct Process {
    std::uint32_t rank = 0;
    int pid = -1;  // -1: it has ended
    UniqueFd in;   // for a process on another host: accepts the names of signals
    bool remote = false;
    std::list<LabelledStream> streams;
};

std::string_view signal_word(int signal) {
    switch (signal) {
        case SIGKILL:
            return "KILL\n";
        case SIGHUP:
            return "HUP\n";
        case SIGUSR1:
            return "USR1\n";
        case SIGUSR2:
            return "USR2\n";
        default:
            return "TERM\n";  // also for INT, which a shell makes background processes ignore
    }
}

class Launch {
  public:
    Launch(const Options& options, const Signals& signals, const std::filesystem::path& folder,
           std::vector<std::string> hosts)
        : options_(options),
          signals_(signals),
          folder_(std::filesystem::absolute(folder).string()),
          hosts_(std::move(hosts)),
          run_(secret_u64()) {}

    [[nodiscard]] ExitCode run() {
        for (std::uint32_t rank = 0; rank < options_.size && !ending_; ++rank) {
            if (const auto started = start_one(rank); !started) {
                complain(fmt::format("rank {}: {}", rank, started.error().message()));
                fail(static_cast<int>(exit_code(started.code())));
                end_all();
            }
            take_signals();
        }
        while (running_ != 0 || streams_open()) {
            if (running_ == 0 && Clock::now() >= last_end_ + std::chrono::seconds(1)) break;
            wait();
        }
        for (Process& process : processes_) {
            for (LabelledStream& stream : process.streams) stream.close();
        }
        return static_cast<ExitCode>(exit_.value_or(0));
    }

  private:
    Result<void> start_one(std::uint32_t rank) {
        ChildOptions child;
        child.variables = {"CINNABAR_GROUP_SOURCE=folder:" + folder_, fmt::format("CINNABAR_GROUP_RANK={}", rank),
                           fmt::format("CINNABAR_GROUP_SIZE={}", options_.size),
                           fmt::format("CINNABAR_GROUP_RUN={:016x}", run_)};
        child.words = options_.program;
        child.gives_output = options_.label;
        child.descriptors = programs_limit_;
        Process process;
        process.rank = rank;
        process.remote = !hosts_.empty();
        if (process.remote) {
            std::error_code failed;
            const auto here = std::filesystem::current_path(failed).string();
            child.words = remote_command(hosts_.at(rank), here, std::exchange(child.variables, {}), options_.program);
            child.takes_input = true;
        }
        CINNABAR_TRY(Child started, start(child));
        process.pid = started.pid;
        process.in = std::move(started.in);
        const std::string label = fmt::format("[{}] ", rank);
        if (started.out) process.streams.emplace_back(std::move(started.out), STDOUT_FILENO, label);
        if (started.err) process.streams.emplace_back(std::move(started.err), STDERR_FILENO, label);
        processes_.push_back(std::move(process));
        ++running_;
        return {};
    }

    void wait() {
        std::vector<pollfd> wanted{{signals_.fd(), POLLIN, 0}};
        std::vector<LabelledStream*> streams;
        for (Process& process : processes_) {
            for (LabelledStream& stream : process.streams) {
                if (!stream.open()) continue;
                streams.push_back(&stream);
                wanted.push_back({stream.fd(), POLLIN, 0});
            }
        }
        const bool limited = kill_at_.has_value() || running_ == 0;
        if (::poll(wanted.data(), wanted.size(), limited ? 100 : -1) < 0) return;
        for (std::size_t i = 0; i < streams.size(); ++i) {
            if (wanted[i + 1].revents) streams[i]->pass_on();
        }
        take_signals();
        if (kill_at_ && Clock::now() >= *kill_at_) kill_all();
    }

    void take_signals() {
        while (const int signal = signals_.next()) {
            if (signal == SIGCHLD) {
                take_ends();
            } else if (signal == SIGUSR1 || signal == SIGUSR2) {
                tell_all(signal);
            } else if (std::exchange(asked_to_end_, true)) {
                kill_all();
            } else {
                ending_ = true;
                tell_all(signal);
            }
        }
    }

    void take_ends() {
        int status = 0;
        while (const int pid = ::waitpid(-1, &status, WNOHANG)) {
            if (pid < 0) return;
            const auto ended =
                std::ranges::find_if(processes_, [pid](const Process& process) { return process.pid == pid; });
            if (ended == processes_.end()) continue;
            ended->pid = -1;
            ended->in.reset();
            --running_;
            last_end_ = Clock::now();
            judge(*ended, status);
        }
    }

    void judge(const Process& process, int status) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (!ending_ || options_.keep_going) {
            complain(WIFEXITED(status) ? fmt::format("rank {} ended with exit code {}", process.rank, code)
                                       : fmt::format("rank {} was ended by signal {} ({})", process.rank,
                                                     WTERMSIG(status), ::strsignal(WTERMSIG(status))));
        }
        fail(code);
        if (!options_.keep_going && !ending_) end_all();
    }

    void fail(int code) {
        if (!exit_) exit_ = code;
    }

    void tell(const Process& process, int signal) const {
        if (process.pid < 0) return;
        if (!process.remote) {
            (void)::kill(-process.pid, signal);
            return;
        }
        const std::string_view word = signal_word(signal);
        (void)!::write(process.in.get(), word.data(), word.size());
    }
    void tell_all(int signal) const {
        for (const Process& process : processes_) tell(process, signal);
    }
    void end_all() {
        ending_ = true;
        tell_all(SIGTERM);
        kill_at_ = Clock::now() +
                   std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.grace_seconds));
    }
    // First sends KILL to processes on other hosts, and one second later kills the ssh clients of those that remain.
    void kill_all() {
        tell_all(SIGKILL);
        if (std::exchange(killed_, true)) {
            for (const Process& process : processes_) {
                if (process.pid >= 0) (void)::kill(-process.pid, SIGKILL);
            }
        }
        kill_at_ = Clock::now() + std::chrono::seconds(1);
    }

    [[nodiscard]] bool streams_open() const {
        return std::ranges::any_of(processes_, [](const Process& process) {
            return std::ranges::any_of(process.streams, [](const LabelledStream& stream) { return stream.open(); });
        });
    }

    const Options& options_;
    const Signals& signals_;
    const std::string folder_;
    const std::vector<std::string> hosts_;
    const std::uint64_t run_;
    const std::optional<rlimit> programs_limit_ = raise_own_limit();
    std::vector<Process> processes_;
    std::size_t running_ = 0;
    bool ending_ = false;
    bool asked_to_end_ = false;
    bool killed_ = false;
    std::optional<int> exit_;  // of the first process that failed
    std::optional<Clock::time_point> kill_at_;
    Clock::time_point last_end_;
};

Result<ExitCode> launch(const Options& options) {
    std::vector<std::string> hosts;
    if (!options.hosts.empty()) {
        CINNABAR_TRY(hosts, read_hosts(options.hosts, options.size));
    }
    const Signals signals;  // declared before the folder: signals stay blocked until it is removed
    if (!options.folder.empty()) return Launch(options, signals, options.folder, std::move(hosts)).run();
    CINNABAR_TRY(const OwnFolder folder, OwnFolder::make());
    return Launch(options, signals, folder.path(), std::move(hosts)).run();
}

}  // namespace

ExitCode run(const Options& options) {
    const auto exit = launch(options);
    if (exit) return *exit;
    complain(exit.error().message());
    return exit_code(exit.code());
}

}  // namespace cinnabar::tools::launch
