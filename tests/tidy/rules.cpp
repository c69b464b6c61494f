// SPDX-License-Identifier: BSD-3-Clause
#include "rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace cinnabar::tidy {
namespace {

using Names = std::set<std::string_view>;

// Which include folders (cinnabar/NAME/...), plugins (cinnabar/plugins/NAME.hpp) and targets (cinnabar::NAME) a room
// may use. A plugin also sees itself; only `builtin` sees the other plugins. Rooms that are not named here (tests) may
// use everything.
const std::map<std::string_view, Names> arrows{
    {"base", {"base"}},
    {"na", {"base", "na"}},
    {"tls", {"base", "na", "tls"}},
    {"plugins", {"base", "na", "tls"}},
    {"bulk", {"base", "na", "bulk"}},
    {"rpc", {"base", "na", "bulk", "rpc"}},
    {"hl", {"base", "na", "bulk", "rpc", "hl", "builtin"}},
    {"mercury", {"base", "na", "bulk", "rpc", "mercury", "builtin"}},
    {"files", {"base", "na", "bulk", "rpc", "hl", "files"}},
    {"otlp", {"base", "na", "bulk", "rpc", "hl", "otlp"}},
    {"group", {"base", "na", "bulk", "rpc", "hl", "group"}},
    {"nixl", {"base", "na", "bulk", "rpc", "hl", "builtin"}},  // loaded by NIXL, so it brings the transports
    {"tools", {"base", "na", "bulk", "rpc", "hl", "files", "group", "tools", "builtin", "cinnabar"}},
    // sim is included because users test their services on it.
    {"examples", {"base", "na", "bulk", "rpc", "hl", "files", "group", "builtin", "cinnabar", "sim"}},
};

// The core depends on the C++ library only.
const Names core_rooms{"base", "na", "bulk", "rpc"};
const Names library_rooms{"base",    "na",      "bulk",  "rpc",  "hl",    "tls",
                          "plugins", "mercury", "files", "otlp", "group", "nixl"};

constexpr std::array<std::string_view, 18> third_party_includes{
    "<boost/", "<cereal/",  "<fmt/",        "<spdlog/", "<CLI/",  "<gtest/",    "<gmock/",     "<benchmark/", "<xxhash",
    "<isa-l",  "<openssl/", "<infiniband/", "<rdma/",   "<curl/", "<nlohmann/", "<microhttpd", "<pmix",       "<mpi.h"};
constexpr std::array<std::string_view, 6> third_party_names{"ibv_", "fi_", "rdma_cm", "boost", "BOOST_", "cereal"};
// The headers that exist to bridge to a third party.
const Names bridges{"hl/include/cinnabar/hl/macros.hpp", "hl/include/cinnabar/hl/cereal.hpp",
                    "hl/include/cinnabar/hl/spdlog.hpp", "group/mpi/include/cinnabar/group/mpi.hpp",
                    "mercury/include/mercury_config.h",  "mercury/include/mercury_macros.h"};

// Files in which a banned name is the subject itself: the counter of allocations, a context's own member `sleep`, and
// strings that users free.
const std::map<std::string_view, Names> banned_name_exceptions{
    {"tests/support/allocation_count.cpp", {"malloc", "calloc", "realloc"}},
    {"tests/counts/count_support_test.cpp", {"malloc"}},
    {"mercury/src/string.cpp", {"malloc"}},
    {"na/src/sleep.cpp", {"sleep"}},
    {"na/src/context_impl.hpp", {"sleep"}},
};

// The files that see a whole context of rpc: they open, drive, show and close it, are its public faces, or belong to
// the parts that each small call goes through (origin, replies, target, serving).
const Names whole_contexts{
    "rpc/src/context.cpp",   "rpc/src/drain_on_close.cpp", "rpc/src/snapshot.cpp",   "rpc/src/call.cpp",
    "rpc/src/call_lend.cpp", "rpc/src/engine.cpp",         "rpc/src/notice.cpp",     "rpc/src/request.cpp",
    "rpc/src/view.cpp",      "rpc/src/finish.cpp",         "rpc/src/on_arrival.cpp", "rpc/src/post_reply.cpp",
    "rpc/src/replies.cpp",   "rpc/src/send.cpp",           "rpc/src/target.cpp",
};

Finding at(const Source& source, std::size_t index, std::string text) {
    return {source.path, index + 1, std::move(text)};
}

std::size_t columns(std::string_view line) {
    return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// "<cinnabar/na/op.hpp>" or "\"op.hpp\"" for an #include line; empty for other lines.
std::string_view included(std::string_view line) {
    const auto hash = line.find_first_not_of(' ');
    if (hash == std::string_view::npos || line[hash] != '#') return {};
    const auto word = line.find("include", hash);
    const auto open = word == std::string_view::npos ? word : line.find_first_of("<\"", word);
    if (open == std::string_view::npos) return {};
    const auto close = line.find_first_of(">\"", open + 1);
    return close == std::string_view::npos ? std::string_view() : line.substr(open, close - open + 1);
}

std::string_view next_name(std::string_view text) {
    const auto names = names_in(text);
    return names.empty() || !text.starts_with(names.front()) ? std::string_view() : names.front();
}

bool may_use(const Source& source, std::string_view name) {
    const auto row = arrows.find(source.room());
    if (row == arrows.end() || row->second.contains(name)) return true;
    if (source.room() != "plugins") return false;
    const bool upper_room = arrows.contains(name);
    return name == source.corner() || (source.corner() == "builtin" && !upper_room);
}

bool is_public(const Source& source) {
    return source.is_header() && source.path.find("/include/") != std::string::npos;
}

// Walks the braces of a file and reports the bodies that are outside any other function.
class FunctionWalk {
  public:
    explicit FunctionWalk(const Source& source) : source_(source) {}

    Findings run() {
        for (std::size_t line = 0; line < source_.code.size(); ++line) {
            const std::string& code = source_.code[line];
            if (directive(line)) continue;
            for (const char c : code) step(c, line);
            head_ += ' ';
        }
        return std::move(findings_);
    }

  private:
    // A preprocessor line, or a continuation of one after a backslash.
    [[nodiscard]] bool directive(std::size_t line) const {
        while (line > 0 && source_.code[line - 1].ends_with('\\')) --line;
        const auto first = source_.code[line].find_first_not_of(' ');
        return first != std::string::npos && source_.code[line][first] == '#';
    }

    void step(char c, std::size_t line) {
        if (c == '{') {
            if (inside_ == 0 && !opens_scope()) {
                is_function_ = head_.find('(') != std::string::npos;
                start_ = line;
            }
            if (inside_ > 0 || !opens_scope()) ++inside_;
            head_.clear();
        } else if (c == '}') {
            if (inside_ > 0 && --inside_ == 0 && is_function_) close(line);
            head_.clear();
        } else if (c == ';') {
            head_.clear();
        } else {
            head_ += c;
        }
    }

    // Whether the brace after head_ opens a namespace or a type, whose functions count separately.
    [[nodiscard]] bool opens_scope() const {
        if (head_.find('=') != std::string::npos && head_.find('(') != std::string::npos) return false;
        for (const std::string_view name : names_in(head_)) {
            if (name == "namespace" || name == "class" || name == "struct" || name == "union")
                return !names_a_function();
            if (name == "extern") return head_.find('(') == std::string::npos;
        }
        return false;
    }
    // For "struct tm now() {": the last thing before the brace is a parameter list, not a name or a base.
    [[nodiscard]] bool names_a_function() const {
        const auto last = head_.find_last_not_of(' ');
        return last != std::string::npos && head_[last] == ')' && head_.find("alignas") == std::string::npos;
    }

    void close(std::size_t line) {
        const std::size_t length = line - start_ + 1;
        if (length > function_lines_max) {
            findings_.push_back(at(source_, start_, "a function of " + std::to_string(length) + " lines"));
        }
    }

    const Source& source_;
    Findings findings_;
    std::string head_;        // the code since the last brace or semicolon
    std::size_t inside_ = 0;  // open braces in the body that is being walked
    std::size_t start_ = 0;
    bool is_function_ = false;
};

bool is_call(std::string_view code, std::string_view name) {
    const auto after = static_cast<std::size_t>(name.data() + name.size() - code.data());
    const auto next = code.find_first_not_of(' ', after);
    return next != std::string_view::npos && code[next] == '(';
}

}  // namespace

Findings check_sizes(const Source& source) {
    if (!source.is_cpp() && source.path != "dev") return {};
    Findings findings;
    if (source.lines.size() > file_lines_max) {
        findings.push_back(at(source, 0, "a file of " + std::to_string(source.lines.size()) + " lines"));
    }
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
        const auto width = columns(source.lines[i]);
        if (width > line_columns_max)
            findings.push_back(at(source, i, "a line of " + std::to_string(width) + " columns"));
    }
    if (source.is_cpp()) {
        const auto functions = FunctionWalk(source).run();
        findings.insert(findings.end(), functions.begin(), functions.end());
    }
    return findings;
}

Findings check_arrows(const Source& source) {
    Findings findings;
    const bool cmake = source.path.ends_with("CMakeLists.txt");
    for (std::size_t i = 0; i < source.code.size(); ++i) {
        const std::string_view line = source.code[i];
        const auto include = source.is_cpp() ? included(line) : std::string_view();
        if (include.find("..") != std::string_view::npos && arrows.contains(source.room())) {
            findings.push_back(at(source, i, "an include that climbs out of its folder: " + std::string(include)));
        }
        if (constexpr std::string_view own = "<cinnabar/"; include.starts_with(own)) {
            auto name = next_name(include.substr(own.size()));
            // A plugin's header is <cinnabar/plugins/NAME.hpp>.
            if (name == "plugins") name = next_name(include.substr(own.size() + name.size() + 1));
            if (!may_use(source, name)) {
                findings.push_back(
                    at(source, i, std::string(source.room()) + " must not include " + std::string(include)));
            }
        }
        if (!cmake) continue;
        constexpr std::string_view target = "cinnabar::";
        for (auto found = line.find(target); found != std::string_view::npos; found = line.find(target, found + 1)) {
            auto name = next_name(line.substr(found + target.size()));
            if (name.starts_with("plugin_")) name.remove_prefix(std::string_view("plugin_").size());
            const bool asked_for = line.substr(0, found).ends_with("TARGET ");  // if(TARGET ...) links nothing
            if (!asked_for && !may_use(source, name)) {
                findings.push_back(
                    at(source, i, std::string(source.room()) + " must not link cinnabar::" + std::string(name)));
            }
        }
    }
    return findings;
}

Findings check_parts(const Source& source) {
    Findings findings;
    if (!source.is_cpp() || whole_contexts.contains(source.path)) return findings;
    for (std::size_t i = 0; i < source.code.size(); ++i) {
        if (included(source.code[i]) == "\"context_core.hpp\"")
            findings.push_back(at(source, i, "a part names the parts that it needs, in place of the whole context"));
    }
    return findings;
}

Findings check_third_party(const Source& source) {
    Findings findings;
    const bool core = core_rooms.contains(source.room());
    const bool open = is_public(source) && library_rooms.contains(source.room()) && !bridges.contains(source.path);
    if (!source.is_cpp() || (!core && !open)) return findings;
    for (std::size_t i = 0; i < source.code.size(); ++i) {
        const auto include = included(source.code[i]);
        for (const auto start : third_party_includes) {
            if (include.starts_with(start))
                findings.push_back(at(source, i, "a third party's header " + std::string(include)));
        }
        if (!include.empty()) continue;
        for (const auto name : names_in(source.code[i])) {
            for (const auto start : third_party_names) {
                if (name.starts_with(start))
                    findings.push_back(at(source, i, "a third party's name " + std::string(name)));
            }
        }
    }
    return findings;
}

Findings check_banned_names(const Source& source) {
    static const Names everywhere{"goto"};
    static const Names calls{"sleep", "usleep", "nanosleep"};
    static const Names c_allocation{"malloc", "calloc", "realloc"};
    static const Names of_this_thread{"sleep_for", "sleep_until"};
    static const Names printing{"cout", "cerr", "clog"};
    static const Names printing_calls{"printf", "puts", "putchar", "vprintf"};
    Findings findings;
    if (!source.is_cpp()) return findings;
    const bool library = library_rooms.contains(source.room());
    const bool for_c = source.path.ends_with(".c") || source.path.ends_with(".h");  // C has nothing else
    const auto exceptions = banned_name_exceptions.find(source.path);
    for (std::size_t i = 0; i < source.code.size(); ++i) {
        std::string_view before;
        for (const auto name : names_in(source.code[i])) {
            const bool call = is_call(source.code[i], name);
            const bool sleeps = std::exchange(before, name) == "this_thread" && of_this_thread.contains(name);
            const bool banned = everywhere.contains(name) || sleeps || (call && calls.contains(name)) ||
                                (call && !for_c && c_allocation.contains(name)) ||
                                (library && (printing.contains(name) || (call && printing_calls.contains(name))));
            if (exceptions != banned_name_exceptions.end() && exceptions->second.contains(name)) continue;
            if (banned) findings.push_back(at(source, i, "the banned name " + std::string(name)));
        }
    }
    return findings;
}

Findings check_leftovers(const Source& source) {
    // In two parts, so that this file does not violate the rule.
    static const std::set<std::string, std::less<>> words{std::string("FIX") + "ME", std::string("XX") + "X",
                                                          std::string("HA") + "CK", std::string("NO") + "COMMIT"};
    static const std::array<std::string, 3> marks{std::string("DISABLED") + "_", std::string("[") + "IN]",
                                                  std::string("[") + "OUT]"};
    static const std::string todo = std::string("TO") + "DO";
    Findings findings;
    if (!source.is_cpp() && !source.path.ends_with(".cmake") && !source.path.ends_with("CMakeLists.txt"))
        return findings;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
        const std::string_view line = source.lines[i];
        for (const auto name : names_in(line)) {
            if (words.contains(name)) findings.push_back(at(source, i, "left behind: " + std::string(name)));
        }
        for (const auto& mark : marks) {
            if (line.find(mark) != std::string_view::npos) findings.push_back(at(source, i, "left behind: " + mark));
        }
        if (const auto found = line.find(todo); found != std::string_view::npos) {
            const auto kind = line.substr(found + todo.size());
            const bool known =
                kind.starts_with("(perf): ") || kind.starts_with("(port): ") || kind.starts_with("(test): ");
            if (!known) findings.push_back(at(source, i, "left behind: a mark without a kind (perf, port, test)"));
        }
        if (line.starts_with("#if 0") || line.starts_with("#if false")) {
            findings.push_back(at(source, i, "code that is switched off"));
        }
    }
    return findings;
}

Findings check_merges(const Source& source) {
    Findings findings;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
        const std::string_view line = source.lines[i];
        if (line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "))
            findings.push_back(at(source, i, "a merge that was not finished"));
    }
    return findings;
}

Findings check_machine_paths(const Source& source) {
    static constexpr std::array<std::string_view, 6> homes{"work", "home", "root", "Users", "mnt", "scratch"};
    Findings findings;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
        const std::string_view line = source.lines[i];
        for (auto slash = line.find('/'); slash != std::string_view::npos; slash = line.find('/', slash + 1)) {
            const bool absolute =
                slash == 0 || std::string_view(" \"'`(=<:,[").find(line[slash - 1]) != std::string_view::npos;
            const auto name = next_name(line.substr(slash + 1));
            const auto after = slash + 1 + name.size();
            const bool goes_on = after + 1 < line.size() && line[after] == '/' && line[after + 1] != ' ';
            if (absolute && goes_on && std::find(homes.begin(), homes.end(), name) != homes.end()) {
                findings.push_back(
                    at(source, i, "a path of somebody's machine: " + std::string(line.substr(slash, 40))));
            }
        }
    }
    return findings;
}

Findings check_first_lines(const Source& source) {
    Findings findings;
    if (!source.is_cpp()) return findings;
    constexpr std::string_view licence = "// SPDX-License-Identifier: BSD-3-Clause";
    constexpr std::string_view c_licence = "/* SPDX-License-Identifier: BSD-3-Clause";
    if (source.room() == "examples") return findings;  // shown unchanged in guides, and free to copy
    const std::string_view first = source.lines.empty() ? std::string_view() : std::string_view(source.lines.front());
    if (first != licence && !first.starts_with(c_licence))
        findings.push_back(at(source, 0, "the licence line is not the first"));
    // Headers for C must use what every C compiler supports.
    const bool for_c = source.path.ends_with(".h");
    const bool guarded = std::any_of(source.lines.begin(), source.lines.end(), [&](const std::string& line) {
        return line == "#pragma once" || (for_c && line.starts_with("#ifndef "));
    });
    if (source.is_header() && !guarded) findings.push_back(at(source, 0, "a header without a guard"));
    return findings;
}

Findings check_listed(const std::vector<Source>& tree) {
    std::set<std::string> listed;
    for (const Source& source : tree) {
        const std::filesystem::path list = source.path;
        if (list.filename() != "CMakeLists.txt") continue;
        for (const auto& line : source.lines) {
            std::string words = line.substr(0, line.find('#'));
            std::replace_if(
                words.begin(), words.end(), [](char c) { return c == '(' || c == ')' || c == '"'; }, ' ');
            std::istringstream stream(words);
            for (std::string word; stream >> word;) {
                const auto path = (list.parent_path() / word).lexically_normal().generic_string();
                // Helpers and loops in CMake name a file by the name of its case.
                for (const char* ending : {"", ".cpp", "_fuzz.cpp"}) listed.insert(path + ending);
            }
        }
    }
    Findings findings;
    for (const Source& source : tree) {
        if (source.is_cpp() && !source.is_header() && !listed.contains(source.path)) {
            findings.push_back(at(source, 0, "no CMakeLists.txt lists this file"));
        }
    }
    return findings;
}

Findings check_tree(const std::vector<Source>& tree) {
    Findings findings = check_listed(tree);
    for (const auto rule : {check_rooms_of_words, check_limits}) {
        const auto found = rule(tree);
        findings.insert(findings.end(), found.begin(), found.end());
    }
    constexpr std::array<Findings (*)(const Source&), 12> rules{
        check_sizes,     check_classes,   check_arrows, check_parts,         check_third_party, check_banned_names,
        check_libfabric, check_leftovers, check_merges, check_machine_paths, check_first_lines, check_words};
    for (const Source& source : tree) {
        for (const auto rule : rules) {
            const auto found = rule(source);
            findings.insert(findings.end(), found.begin(), found.end());
        }
    }
    return findings;
}

}  // namespace cinnabar::tidy
