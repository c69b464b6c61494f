// SPDX-License-Identifier: BSD-3-Clause
// The cinnabar command: parses the command line and runs a subcommand.
#include "commands/commands.hpp"
#include "commands/pattern_file.hpp"
#include "doctor/command.hpp"
#include "group/command.hpp"
#include "launch/command.hpp"
#include "perf/command_line.hpp"
#include "security/command.hpp"
#include "shell/command.hpp"
#include "terminal/units.hpp"
#include "watch/command.hpp"

#include <cinnabar/base/printable.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools {
namespace {

using Run = std::function<ExitCode()>;

std::string check_size(const std::string& text) {
    const auto bytes = parse_bytes(text);
    return bytes ? std::string() : bytes.error().message();
}

std::string check_rate(const std::string& text) {
    const auto bytes = parse_bytes(text);
    if (!bytes) return bytes.error().message();
    return *bytes == 0 ? std::string("a rate is at least 1 byte a second") : std::string();
}

// At a lower rate, the windows of a few files would wait until their calls time out.
std::string check_server_rate(const std::string& text) {
    const auto bytes = parse_bytes(text);
    if (!bytes) return bytes.error().message();
    return *bytes < (256u << 10) ? std::string("a server's rate is at least 256k") : std::string();
}

void add_transport(CLI::App& command, std::string& transport) {
    command.add_option(
        "--transport", transport,
        "The transport to use, if the address names several: tcp, tcps, shm, or another of cinnabar info");
}

void add_session_options(CLI::App& command, SessionOptions& options) {
    add_transport(command, options.transport);
    command.add_option("--key-file", options.key_file, "Prove the key in this file, and have the server prove it")
        ->type_name("FILE");
    security::add_certificate_options(command, options.tls);
    command.add_flag("--insecure", options.insecure,
                     "Trust a loopback server that requires no key: any user of this host may run it");
}

void add_transfer_options(CLI::App& command, TransferOptions& options) {
    add_session_options(command, options);
    command
        .add_option("--wait", options.wait_seconds,
                    "Seconds to keep redialling a server that is lost or not listening yet")
        ->check(CLI::Range(0.0, 31'536'000.0));
    command
        .add_option_function<std::string>(
            "--rate", [&](const std::string& text) { options.bytes_per_second = parse_bytes(text).value(); },
            "Bytes per second, over all files together (default: no limit)")
        ->check(check_rate)
        ->type_name("SIZE");
    command.add_flag("--replace", options.replace, "Replace files that exist");
    command.add_flag("--json", options.json, "One line of JSON for each file, and one for all, on stdout");
    command.add_flag("-q,--quiet", options.quiet, "No progress bar and no summary");
    command.add_option("-j,--jobs", options.jobs, "Files under way at once")
        ->capture_default_str()
        ->check(CLI::Range(1u, 64u));
}

void add_tree_options(CLI::App& command, TransferOptions& options) {
    command.add_flag("-p,--preserve", options.preserve, "Keep mode and time of single files too, as for trees");
    command.add_flag("-X,--xattrs", options.extended.user, "Keep extended attributes (user.*)");
    command.add_flag("-A,--acls", options.extended.acls, "Keep POSIX access control lists");
    command.add_flag("--safe-links", options.safe_links, "Leave out symbolic links that lead out of their tree");
    auto* const ignore_times =
        command.add_flag("-I,--ignore-times", options.ignore_times,
                         "Move files also when they are the same by size, time and mode, or by their stored checksum");
    command
        .add_flag("-c,--checksum", options.by_content,
                  "Skip files whose content is the same, whatever their times are: both sides read all, also of what "
                  "an interrupted save left")
        ->excludes(ignore_times);
    command.add_flag("-W,--whole-file", options.whole,
                     "Send all of a file that replaces another, not only the blocks that differ");
    command.add_flag("-n,--dry-run", options.dry_run, "Tell what would be done, and do nothing");
    const auto add_patterns = [&](const char* name, const char* type, const std::string& what) {
        command.add_option(name, what)
            ->type_name(type)
            ->expected(1)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    };
    add_patterns("--include", "PATTERN", "Parts of trees to take; the first pattern that matches decides");
    add_patterns("--exclude", "PATTERN", "Parts of trees to leave out, with the rules of rsync's patterns");
    add_patterns("--include-from", "FILE", "The same, with the patterns in this file, one a line");
    add_patterns("--exclude-from", "FILE", "The same, with the patterns in this file, one a line");
}

void add_delete_options(CLI::App& command, TransferOptions& options) {
    auto* const deletes = command.add_flag(
        "--delete", options.delete_extraneous,
        "When all else is done, remove what is in the receiving folders and not in those that were given");
    command.add_option("--max-delete", options.deletions_max, "Remove at most so many files, links and folders")
        ->needs(deletes);
}

// Rejects --delete for a group, because each server of a group has only a part of a folder.
void check_deletes(const TransferOptions& options, const GroupAddress& group) {
    if (options.delete_extraneous && !group.members.empty())
        throw CLI::ValidationError("--delete", "works with a single server, not with --group: give its URI");
}

// Include and exclude patterns, in the order in which they were given.
files::Filter filter_of(const CLI::App& command) {
    files::Filter filter;
    std::map<const CLI::Option*, std::size_t> next;
    for (const auto* option : command.parse_order()) {
        const std::string name = option->get_name();
        const bool include = name == "--include" || name == "--include-from";
        if (!include && name != "--exclude" && name != "--exclude-from") continue;
        const auto& word = option->results().at(next[option]++);
        const auto verdict = include ? files::Filter::Verdict::include : files::Filter::Verdict::exclude;
        const auto added = name.ends_with("-from") ? add_patterns_in(word, verdict, filter) : filter.add(verdict, word);
        if (!added) throw CLI::ValidationError(name, added.error().message());
    }
    return filter;
}

void add_sync(CLI::App& command, files::Sync& sync, const std::string& receiver = "the server") {
    command
        .add_option("--sync", sync,
                    "When " + receiver +
                        " syncs: after each file, after batches of small ones, or never (a power loss may leave names "
                        "of incomplete files)")
        ->transform(CLI::CheckedTransformer(std::map<std::string, files::Sync>{{"each", files::Sync::each},
                                                                               {"batch", files::Sync::batch},
                                                                               {"none", files::Sync::none}})
                        .description("{each,batch,none}"))
        ->default_str("batch");
}

CLI::Option* add_group_address(CLI::App& command, GroupAddress& group) {
    auto* const members =
        command.add_option("--group", group.members,
                           "A member of a group whose servers share the files: tcps://HOST:PORT[/FOLDER]; may be given "
                           "several times, and they are asked in turn");
    members->type_name("URI")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    members->allow_extra_args(false);  // what follows is a file
    command.add_option("--group-name", group.name, "The name of that group")->capture_default_str()->needs(members);
    return members;
}

// Excludes options that are for one server only.
void exclude(CLI::App& command, CLI::Option* group, std::initializer_list<const char*> names) {
    for (const char* const name : names) group->excludes(command.get_option(name));
}

void add_replicas(CLI::App& command, CLI::Option* group, unsigned& replicas, const std::string& what) {
    command.add_option("--replicas", replicas, what)->capture_default_str()->check(CLI::Range(1u, 64u))->needs(group);
}

// Takes the last word as the server, unless there is a group.
void take_server(SaveOptions& options) {
    if (!options.group.members.empty()) return;
    if (options.files.size() < 2) throw CLI::ValidationError("FILE URI", "give files and the URI to save them to");
    options.to = options.files.back();
    options.files.pop_back();
}

void add_save(CLI::App& app, SaveOptions& options, Run& run) {
    auto& command =
        *app.add_subcommand("save", "Save files and folders on a server: cinnabar save FILE... URI[/FOLDER]");
    auto* files = command.add_option("FILE URI", options.files,
                                     "Files, and where to: tcp://HOST:PORT[/FOLDER], shm://NAME[/FOLDER]");
    files->required()->expected(1, -1);
    const auto* as = command.add_option("--as", options.as, "The name on the server, for a single file");
    command.add_flag("--push", options.push, "Write into buffers of the server, instead of having it read from here");
    add_sync(command, options.sync);
    command.add_flag("!--no-checksum", options.checksum, "Compute and compare no checksums");
    add_transfer_options(command, options);
    add_tree_options(command, options);
    add_delete_options(command, options);
    auto* const group = add_group_address(command, options.group);
    add_replicas(command, group, options.replicas, "Copies of each file, on as many servers of the group");
    exclude(command, group, {"--wait", "--rate"});
    command.callback([&options, &run, &command, as] {
        options.filter = filter_of(command);
        check_deletes(options, options.group);
        take_server(options);
        if (as->count() > 0 && options.as.empty()) throw CLI::ValidationError("--as", "a file needs a name");
        if (!options.as.empty() && options.files.size() != 1)
            throw CLI::ValidationError("--as", "names a single file: give only one");
        run = [&] { return options.group.members.empty() ? run_save(options) : group_files::run_save(options); };
    });
}

// Removes the "./" that words_for() puts before a word in brackets: it suits local paths, but no name on a server.
std::string as_given(std::string word) {
    return word.starts_with("./[") && word.ends_with(']') ? word.substr(2) : word;
}

void add_fetch(CLI::App& app, FetchOptions& options, Run& run) {
    auto& command =
        *app.add_subcommand("fetch", "Fetch files and folders from a server: cinnabar fetch URI/NAME... [-o DIR]");
    command
        .add_option("URI/NAME", options.from,
                    "What to fetch: tcp://HOST:PORT/NAME, shm://SERVER/NAME; with --group, NAME")
        ->required()
        ->transform(as_given);
    command.add_option("-o,--output", options.folder, "The directory for the files; created if it is missing")
        ->type_name("DIR")
        ->capture_default_str();
    add_sync(command, options.sync, "this side");
    add_transfer_options(command, options);
    add_tree_options(command, options);
    add_delete_options(command, options);
    exclude(command, add_group_address(command, options.group), {"--wait", "--rate"});
    command.callback([&options, &run, &command] {
        options.filter = filter_of(command);
        check_deletes(options, options.group);
        run = [&] { return options.group.members.empty() ? run_fetch(options) : group_files::run_fetch(options); };
    });
}

void add_copy(CLI::App& app, CopyOptions& options, Run& run) {
    auto& command = *app.add_subcommand(
        "copy", "Copy from server to server: cinnabar copy URI/NAME URI/NEWNAME, or URI/NAME... URI/FOLDER/");
    command
        .add_option("URI/NAME URI", options.from,
                    "What to copy, and where to: tcp://HOST:PORT/NAME, shm://SERVER/NAME; a name that ends in '/' is a "
                    "folder to put it in")
        ->required()
        ->expected(2, -1);
    command
        .add_option("--from-key-file", options.from_key_file,
                    "The key of the source server, if it differs from --key-file")
        ->type_name("FILE");
    add_sync(command, options.sync);
    add_transfer_options(command, options);
    add_tree_options(command, options);
    command.callback([&options, &run, &command] {
        options.filter = filter_of(command);
        options.to = options.from.back();
        options.from.pop_back();
        run = [&] { return run_copy(options); };
    });
}

void add_list(CLI::App& app, ListOptions& options, Run& run) {
    auto& command = *app.add_subcommand("list", "List files: cinnabar list URI[/FOLDER]");
    auto* const server =
        command.add_option("URI", options.from, "A server, perhaps with a folder: tcp://HOST:PORT[/FOLDER]");
    add_session_options(command, options);
    command.add_flag("-l,--long", options.details, "With kind, permissions, size and time");
    command.add_flag("--json", options.json, "One line of JSON for each");
    command.add_flag("--staged", options.staged, "List what interrupted saves left, to resume from");
    command.add_flag("--clean", options.clean, "Remove what interrupted saves left: of the name in URI, or all of it");
    auto* const group = add_group_address(command, options.group);
    add_replicas(command, group, options.replicas, "Mark files that have fewer copies than this");
    group->excludes(server);
    exclude(command, group, {"--staged", "--clean"});
    command.callback([&] {
        const bool one = options.group.members.empty();
        if (one && options.from.empty()) throw CLI::ValidationError("URI", "give a server, or --group");
        run = [&, one] { return one ? run_list(options) : group_files::run_list(options); };
    });
}

CLI::App& add_manage(CLI::App& app, ManageOptions& options, const std::string& name, const std::string& what) {
    auto& command = *app.add_subcommand(name, what);
    command
        .add_option("URI/NAME", options.names,
                    "What: tcp://HOST:PORT/NAME, shm://SERVER/NAME; with --group, NAME, at all servers that have it")
        ->required()
        ->transform(as_given);
    add_session_options(command, options);
    (void)add_group_address(command, options.group);
    command.add_flag("--json", options.json, "One line of JSON for each");
    return command;
}

void add_manages(CLI::App& app, ManageOptions& options, Run& run) {
    auto& remove = add_manage(app, options, "remove", "Remove files, links and folders: cinnabar remove URI/NAME...");
    remove.add_flag("-r,--recursive", options.recursive, "Remove folders with all that is in them");
    remove.callback([&] { run = [&] { return run_remove(options); }; });
    auto& stat = add_manage(app, options, "stat", "Describe names: cinnabar stat URI/NAME...");
    stat.callback([&] { run = [&] { return run_stat(options); }; });
    auto& verify = add_manage(app, options, "verify", "Check a server's files against their checksums");
    verify.add_flag("-q,--quiet", options.quiet, "Print only what is wrong");
    verify.add_option("-j,--jobs", options.jobs, "Files under way at once")
        ->capture_default_str()
        ->check(CLI::Range(1u, 64u));
    verify.callback([&] { run = [&] { return run_verify(options); }; });
}

// Limits on the disk space and bandwidth of clients.
void add_serve_limits(CLI::App& command, ServeOptions& options) {
    command
        .add_option_function<std::string>(
            "--keep-free", [&](const std::string& text) { options.keep_free_bytes = parse_bytes(text).value(); },
            "Free space to leave on the disk (default: a hundredth of it, 1G at most)")
        ->check(check_size)
        ->type_name("SIZE");
    command.add_option("--keep-files", options.keep_free_files,
                       "Free inodes to leave on the disk (default: a hundredth of all)");
    command.add_option("--client-files", options.client_files, "Files of one client under way at once")
        ->capture_default_str()
        ->check(CLI::Range(1u, 4096u));
    command
        .add_option_function<std::string>(
            "--client-bytes", [&](const std::string& text) { options.client_bytes = parse_bytes(text).value(); },
            "Bytes of one client's files under way at once (default: any number)")
        ->check(check_size)
        ->type_name("SIZE");
    command
        .add_option_function<std::string>(
            "--client-quota", [&](const std::string& text) { options.client_quota = parse_bytes(text).value(); },
            "Bytes that one user or host may save while the server runs (default: no limit)")
        ->check(check_size)
        ->type_name("SIZE");
    command.add_option("--client-quota-files", options.client_quota_files,
                       "Files, links and folders that one user or host may save while the server runs");
    command
        .add_option_function<std::string>(
            "--rate", [&](const std::string& text) { options.bytes_per_second = parse_bytes(text).value(); },
            "Bytes per second that one user or host may move (default: no limit)")
        ->check(check_server_rate)
        ->type_name("SIZE");
    command
        .add_option_function<std::string>(
            "--staged-bytes", [&](const std::string& text) { options.staged_bytes = parse_bytes(text).value(); },
            "Disk space for remains of interrupted saves (default: a quarter of it)")
        ->check(check_size)
        ->type_name("SIZE");
    command.add_option("--staged-hours", options.staged_hours, "Hours to keep remains")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 87'600.0));
}

void add_membership(CLI::App& command, ServeOptions& options) {
    auto* const group = command.add_flag("--group", options.group,
                                         "Be a member of a group, whose servers share files: see save --group");
    group->excludes(command.get_option("--read-only"));
    command.add_option("--group-name", options.group_name, "The name of the group")
        ->capture_default_str()
        ->needs(group);
    auto* const join = command.add_option("--join", options.join,
                                          "A member to join by; several are tried in turn (default: create the group)");
    join->type_name("URI")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->needs(group);
    auto* const members = command.add_option(
        "--members", options.members,
        "Who may be a member: key:NAME, cert:NAME, uid:N, with commas between them (default: all that can connect)");
    members->type_name("CALLERS")->expected(1)->delimiter(',');
    members->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->needs(group);
    command
        .add_option("--roster", options.roster_file,
                    "The addresses of all members, one a line, this one included: they may start in any order")
        ->type_name("FILE")
        ->needs(group)
        ->excludes(join);
}

void add_serve(CLI::App& app, ServeOptions& options, Run& run) {
    auto& command = *app.add_subcommand("serve", "Store files of clients in a directory");
    command.add_option("--root", options.root, "The directory; nothing outside of it is touched")
        ->type_name("DIR")
        ->required();
    command
        .add_option("--listen", options.listen,
                    "Where to listen, tcp://HOST[:PORT], tcps://HOST[:PORT], ofi+PROVIDER://HOST[:PORT], "
                    "ofis+PROVIDER://HOST[:PORT] or shm://[NAME]; may be given several times")
        ->default_str("tcp://127.0.0.1:0");
    command.add_option("--ready-file", options.ready_file, "File to write the address to once ready")
        ->type_name("FILE");
    command
        .add_option("--key-file", options.key_file,
                    "Serve only clients that prove the key in this file, instead of only this user")
        ->type_name("FILE");
    security::add_certificate_options(command, options.tls);
    command
        .add_option("--policy", options.policy_file,
                    "Rules that say which client may read, write, replace and remove what, and its quota")
        ->type_name("FILE");
    command.add_flag("--insecure", options.insecure,
                     "Require no key: everybody who can connect can read and write files");
    command.add_flag("--clear", options.clear,
                     "With --key-file: listen also where files cross the network unencrypted (tcp, ofi, verbs)");
    command.add_flag("--read-only", options.read_only, "Let clients only read");
    add_membership(command, options);
    command.add_flag("--json", options.json, "Events as lines of JSON on stdout");
    watch::add_introspection(command, options.introspection);
    auto* const perf = command.add_flag(
        "--perf", options.perf,
        "Answer cinnabar perf and cinnabar doctor: everybody who can connect may use up to 256 MiB of memory");
    command
        .add_flag("--mesh", options.mesh,
                  "Run loads towards other servers for everybody who can connect (cinnabar perf mesh)")
        ->needs(perf);
    command.add_flag("-v,--verbose", options.verbose, "Report every file");
    command.add_option("--writers", options.writers, "Threads that write to the disk")
        ->capture_default_str()
        ->check(CLI::Range(1u, 64u));
    command
        .add_option_function<std::string>(
            "--buffers", [&](const std::string& text) { options.buffer_bytes = parse_bytes(text).value(); },
            "Memory for data in transit, for all clients together")
        ->default_str("32M")
        ->check(check_size)
        ->type_name("SIZE");
    add_serve_limits(command, options);
    command.add_option("--drain", options.drain_seconds, "Seconds for files in progress at shutdown")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 86'400.0));
    command.callback([&] {
        if (options.listen.empty()) options.listen.emplace_back("tcp://127.0.0.1:0");
        run = [&] { return run_serve(options); };
    });
}

void add_ping(CLI::App& app, PingOptions& options, Run& run) {
    auto& command = *app.add_subcommand("ping", "Measure the round trip to a server");
    command.add_option("URI", options.to, "tcp://HOST:PORT, shm://NAME")->required();
    command.add_option("-c,--count", options.count, "How many")->capture_default_str()->check(CLI::Range(1u, 1u << 30));
    command.add_option("-i,--interval", options.interval_seconds, "Seconds between them")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 3600.0));
    command.add_option("-W,--timeout", options.timeout_seconds, "Seconds to wait for each")
        ->capture_default_str()
        ->check(CLI::Range(0.001, 3600.0));
    add_transport(command, options.transport);
    security::add_tls_options(command, options.tls);
    command.add_flag("--json", options.json, "One line of JSON for each, and one for all");
    command.callback([&] { run = [&] { return run_ping(options); }; });
}

void add_info(CLI::App& app, InfoOptions& options, Run& run) {
    auto& command = *app.add_subcommand("info", "Show this machine's transports, and any obstacles");
    command.add_option("URI", options.to, "A server to look at as well");
    security::add_tls_options(command, options.tls);
    command.add_flag("--json", options.json, "As one line of JSON");
    command.add_flag("-v,--verbose", options.verbose, "Show every limit");
    command.callback([&] { run = [&] { return run_info(options); }; });
}

// Returns the words of the command line in reverse, as CLI11 expects, with "./" in front of each positional argument in
// brackets. CLI11 would take such an argument for a list and split it at commas, but `[a,b]` is a valid file name.
// Values of options are not changed.
std::vector<std::string> words_for(const CLI::App* command, int count, char** words) {
    std::vector<std::string> result;
    bool is_value = false;
    bool only_files = false;
    for (int i = 1; i < count; ++i) {
        std::string word = words[i];
        const auto* option = is_value || only_files || !command ? nullptr : command->get_option_no_throw(word);
        const bool in_brackets = word.starts_with('[') && word.ends_with(']');
        result.push_back(in_brackets && !is_value ? "./" + word : word);
        only_files = only_files || (word == "--" && !is_value);
        is_value = option && !option->get_positional() && option->get_expected_min() > 0;
    }
    std::ranges::reverse(result);
    return result;
}

std::string exit_codes_line() {
    std::string text = "Exit codes:";
    for (const auto& meaning : exit_meanings()) {
        text += meaning.code == ExitCode::timed_out ? "\n" : " ";
        text += std::to_string(static_cast<unsigned>(meaning.code)) + " " + std::string(meaning.word) + ",";
    }
    text.pop_back();
    return text;
}

std::string names_of_commands(const CLI::App& app) {
    std::string names;
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names += (names.empty() ? "" : ", ") + command->get_name();
    return names;
}

// The words after "--" of `launch` are another command line, which is not parsed here.
std::vector<std::string> cut_program(int& count, char** words) {
    if (count < 2 || std::string_view(words[1]) != "launch") return {};
    char** const end = words + count;
    char** const dashes = std::find_if(words, end, [](const char* word) { return std::string_view(word) == "--"; });
    count = static_cast<int>(dashes - words);
    return dashes == end ? std::vector<std::string>() : std::vector<std::string>(dashes + 1, end);
}

int run_command_line(int count, char** words) {
    const std::vector<std::string> program = cut_program(count, words);
    CLI::App app{"Cinnabar: files and calls between processes and hosts", "cinnabar"};
    app.set_version_flag("--version", std::string("cinnabar ") + CINNABAR_VERSION);
    app.require_subcommand(1);
    app.footer(exit_codes_line());
    SaveOptions save;
    FetchOptions fetch;
    CopyOptions copy;
    ListOptions list;
    ManageOptions manage;
    ServeOptions serve;
    PingOptions ping;
    InfoOptions info;
    Run run;
    add_serve(app, serve, run);
    add_save(app, save, run);
    add_fetch(app, fetch, run);
    add_copy(app, copy, run);
    add_list(app, list, run);
    add_manages(app, manage, run);
    add_ping(app, ping, run);
    add_info(app, info, run);
    perf::add_command(app, run);
    doctor::add_command(app, run);
    watch::add_commands(app, run);
    group::add_commands(app, run);
    launch::add_command(app, program, run);
    security::add_commands(app, run);
    shell::add_commands(app, run, CINNABAR_VERSION);
    const CLI::App* command = nullptr;
    if (const std::string word = count > 1 ? words[1] : ""; !word.empty() && word[0] != '-') {
        const auto found = app.get_subcommands([&](const CLI::App* known) { return known->get_name() == word; });
        if (!found.empty()) command = found.front();
        if (!command) {
            (void)std::fprintf(stderr, "cinnabar: unknown command: %s; known: %s\n", printable(word).c_str(),
                               names_of_commands(app).c_str());
            return static_cast<int>(ExitCode::usage);
        }
    }
    try {
        app.parse(words_for(command, count, words));
    } catch (const CLI::ParseError& failure) {
        return app.exit(failure) == 0 ? 0 : static_cast<int>(ExitCode::usage);
    }
    ExitCode exit = run();
    // If output to stdout was lost, the command fails even if everything else succeeded.
    if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && exit == ExitCode::ok) {
        (void)std::fprintf(stderr, "cinnabar: cannot write to standard output; everything else succeeded\n");
        exit = ExitCode::io;
    }
    return static_cast<int>(exit);
}

}  // namespace
}  // namespace cinnabar::tools

int main(int count, char** words) {
    try {
        return cinnabar::tools::run_command_line(count, words);
    } catch (const std::exception& failure) {
        (void)std::fprintf(stderr, "cinnabar: %s\n", failure.what());
        return static_cast<int>(cinnabar::tools::ExitCode::internal);
    }
}
