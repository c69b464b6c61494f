// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar serve`, `save` and `fetch` as processes: what arrives, and what is refused.
#include "process.hpp"
#include "support/content.hpp"
#include "support/os_limits.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/uri.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <sstream>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;
using support::SmallDisk;

using testing::Test;

struct SaveProcess : Test {
    Folder folder;
    std::string root = folder.at("root");
    std::string here = folder.at("here");
    SaveProcess() {
        fs::create_directory(root);
        fs::create_directory(here);
    }
    std::string source(const std::string& name, const std::string& content) {
        return folder.put("here/" + name, content);
    }
    bool on_server(const std::string& name) { return fs::exists(fs::symlink_status(fs::path(root) / name)); }
    std::string saved(const std::string& name) { return folder.get("root/" + name); }
};

TEST_F(SaveProcess, FilesOfEverySizeGoThereAndBack) {
    Serving serving(root);
    constexpr std::size_t window = 1 << 20;
    Words save{"save"};
    Words fetch{"fetch", "-o", folder.at("back")};
    fs::create_directory(folder.at("back"));
    Words names;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4097}, window - 1,
                                    window, window + 1, 9 * window, 23 * window + 12'345}) {
        names.push_back("file-" + std::to_string(bytes));
        save.push_back(source(names.back(), pattern(bytes, static_cast<unsigned>(bytes))));
        fetch.push_back(serving.uri() + "/" + names.back());
    }
    save.push_back(serving.uri());
    const auto there = run(save);
    ASSERT_EQ(there.exit, 0) << there.err;
    EXPECT_TRUE(there.out.starts_with("saved 9 files")) << there.out;
    EXPECT_EQ(there.err, "") << "no bar on a pipe";
    const auto back = run(fetch);
    ASSERT_EQ(back.exit, 0) << back.err;
    for (const auto& name : names) {
        const auto content = folder.get("here/" + name);
        EXPECT_TRUE(saved(name) == content) << name;
        EXPECT_TRUE(folder.get("back/" + name) == content) << name;
    }
}

TEST_F(SaveProcess, ManyClientsAtOnce) {
    Serving serving(root, {"--buffers", "2M"});
    std::vector<std::unique_ptr<Process>> clients;
    constexpr unsigned count = 8;
    for (unsigned i = 0; i < count; ++i) {
        const auto name = "file-" + std::to_string(i);
        const auto path = source(name, pattern(3'000'000 + i, i));
        clients.push_back(std::make_unique<Process>(Words{"save", path, serving.uri()}));
    }
    for (auto& client : clients) EXPECT_EQ(client->wait(), 0) << client->err();
    for (unsigned i = 0; i < count; ++i) {
        const auto name = "file-" + std::to_string(i);
        EXPECT_TRUE(saved(name) == pattern(3'000'000 + i, i)) << name;
    }
}

TEST_F(SaveProcess, TwoOfOneNameOneWins) {
    Serving serving(root);
    const auto first = source("first", pattern(20'000'000, 1));
    const auto second = source("second", pattern(20'000'000, 2));
    Process a({"save", first, serving.uri(), "--as", "name"});
    Process b({"save", second, serving.uri(), "--as", "name"});
    const auto of_a = a.wait();
    const auto of_b = b.wait();
    ASSERT_TRUE(of_a && of_b);
    EXPECT_EQ(std::min(*of_a, *of_b), 0) << a.err() << b.err();
    EXPECT_EQ(std::max(*of_a, *of_b), 3) << a.err() << b.err();
    EXPECT_TRUE(saved("name") == pattern(20'000'000, *of_a == 0 ? 1 : 2));
}

TEST_F(SaveProcess, TwoSourcesOfOneNameAreToldBeforeAnythingMoves) {
    Serving serving(root);
    fs::create_directory(here + "/one");
    fs::create_directory(here + "/two");
    const auto first = source("one/same", "1");
    const auto second = source("two/same", "2");
    const auto save = run({"save", "--replace", first, second, serving.uri()});
    EXPECT_EQ(save.exit, 1);
    EXPECT_NE(save.err.find("would both be saved as same"), std::string::npos) << save.err;
    EXPECT_FALSE(on_server("same"));
    const auto fetch = run({"fetch", serving.uri() + "/one/same", serving.uri() + "/two/same"});
    EXPECT_EQ(fetch.exit, 1);
    EXPECT_NE(fetch.err.find("would both become same"), std::string::npos) << fetch.err;
}

TEST_F(SaveProcess, AnUnknownCommandIsNamed) {
    const auto unknown = run({"sve"});
    EXPECT_EQ(unknown.exit, 1);
    EXPECT_NE(unknown.err.find("unknown command: sve"), std::string::npos) << unknown.err;
}

TEST_F(SaveProcess, WhatExistsIsKeptUnlessReplaced) {
    Serving serving(root);
    folder.put("root/a", "old");
    const auto path = source("a", "new");
    const auto kept = run({"save", path, serving.uri()});
    EXPECT_EQ(kept.exit, 3);
    EXPECT_NE(kept.err.find("a file of that name exists and is kept"), std::string::npos) << kept.err;
    EXPECT_EQ(saved("a"), "old");
    EXPECT_EQ(run({"save", "--replace", path, serving.uri()}).exit, 0);
    EXPECT_EQ(saved("a"), "new");
}

TEST_F(SaveProcess, ACommandThatIsRepeatedSkipsWhatIsThere) {
    Serving serving(root);
    const auto small = source("small", "12345");
    const auto large = source("large", pattern(300'000));
    for (const char* option : {"-p", "-c"}) {
        const std::string to = serving.uri() + "/" + option;
        fs::create_directory(root + "/" + option);
        ASSERT_EQ(run({"save", option, small, to}).exit, 0) << "stopped halfway";
        const auto again = run({"save", option, "--json", small, large, to});
        EXPECT_EQ(again.exit, 0) << again.err << again.out;
        EXPECT_NE(again.out.find("\"unchanged\": 1"), std::string::npos) << again.out;
        const auto all = run({"save", option, small, large, to});
        EXPECT_EQ(all.exit, 0) << all.err;
        EXPECT_NE(all.out.find("saved 0 files (2 unchanged)"), std::string::npos) << all.out;
        const Words fetch{"fetch", option, to + "/small", to + "/large", "-o", folder.at("back") + option};
        EXPECT_EQ(run(fetch).exit, 0);
        const auto fetched = run(fetch);
        EXPECT_EQ(fetched.exit, 0) << fetched.err;
        EXPECT_NE(fetched.out.find("fetched 0 files (2 unchanged)"), std::string::npos) << fetched.out;
        EXPECT_EQ(run({"save", option, "--ignore-times", small, to}).exit, option[1] == 'c' ? 1 : 3);
        folder.put("root/" + (option + std::string("/small")), "54321");
        EXPECT_EQ(run({"save", option, small, to}).exit, 3) << "another content, and another time";
    }
}

// Without --preserve the times differ, but the server stores a checksum with what it saves.
TEST_F(SaveProcess, ACommandThatIsRepeatedComparesStoredChecksums) {
    if (::setxattr(root.c_str(), "user.try", "x", 1, 0) != 0) GTEST_SKIP() << "no extended attributes here";
    Serving serving(root);
    const Words save{"save", source("small", "12345"), source("large", pattern(300'000)), serving.uri()};
    ASSERT_EQ(run(save).exit, 0);
    const auto again = run(save);
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_NE(again.out.find("saved 0 files (2 unchanged)"), std::string::npos) << again.out;
    source("small", "54321");
    const auto changed = run(save);
    EXPECT_EQ(changed.exit, 3) << "one of equal size";
    EXPECT_EQ(saved("small"), "12345");
    EXPECT_NE(changed.out.find("(1 unchanged)"), std::string::npos) << changed.out;
    EXPECT_EQ(run({"save", "--no-checksum", folder.at("here/large"), serving.uri()}).exit, 3) << "nothing to compare";
}

TEST_F(SaveProcess, FetchKeepsWhatExistsHere) {
    Serving serving(root);
    folder.put("root/a", "theirs");
    source("a", "mine");
    EXPECT_EQ(run({"fetch", serving.uri() + "/a", "-o", here}).exit, 3);
    EXPECT_EQ(folder.get("here/a"), "mine");
    EXPECT_EQ(run({"fetch", "--replace", serving.uri() + "/a", "-o", here}).exit, 0);
    EXPECT_EQ(folder.get("here/a"), "theirs");
    EXPECT_EQ(run({"fetch", serving.uri() + "/missing", "-o", here}).exit, 10);
    EXPECT_EQ(Folder::list_of(here), Words{"a"});
}

TEST_F(SaveProcess, OneBadFileStopsNoOther) {
    Serving serving(root);
    const auto outcome = run({"save", source("a", "1"), folder.at("here/missing"), source("b", "2"), serving.uri()});
    EXPECT_EQ(outcome.exit, 10) << outcome.err;
    EXPECT_EQ(saved("a"), "1");
    EXPECT_EQ(saved("b"), "2");
}

TEST_F(SaveProcess, NoNameLeadsOut) {
    Serving serving(root);
    const auto path = source("a", "x");
    fs::create_directory_symlink("../here", fs::path(root) / "out");
    fs::create_symlink("../here/a", fs::path(root) / "leak");
    for (const std::string name : {"../a", "/a", "x/../../a", "out/b", ".cinnabar-staging/a"}) {
        const auto outcome = run({"save", "--replace", "--as", name, path, serving.uri()});
        EXPECT_EQ(outcome.exit, 4) << name << outcome.err;
    }
    for (const std::string name : {"../here/a", "/etc/passwd", "leak", "out/a"}) {
        const auto outcome = run({"fetch", "--replace", serving.uri() + "/" + name, "-o", here});
        EXPECT_EQ(outcome.exit, 4) << name << outcome.err;
    }
    EXPECT_EQ(Folder::list_of(here), Words{"a"});
    EXPECT_EQ(run({"save", path, serving.uri()}).exit, 0) << "it goes on serving";
}

TEST_F(SaveProcess, LongAndOddNames) {
    Serving serving(root);
    const auto path = source("a", "x");
    EXPECT_EQ(run({"save", "--as", std::string(4096, 'n'), path, serving.uri()}).exit, 11);
    EXPECT_EQ(run({"save", "--as", std::string(256, 'n'), path, serving.uri()}).exit, 11);
    EXPECT_EQ(run({"save", "--as", std::string(255, 'n'), path, serving.uri()}).exit, 0);
    EXPECT_EQ(run({"save", "--as", "caf\xe9 %2e?x=1", path, serving.uri()}).exit, 0);
    EXPECT_TRUE(on_server("caf\xe9 %2e?x=1"));
    EXPECT_EQ(run({"fetch", serving.uri() + "/caf\xe9 %2e?x=1", "-o", here}).exit, 0);
    EXPECT_EQ(folder.get("here/caf\xe9 %2e?x=1"), "x");
    const auto missing = run({"fetch", serving.uri() + "/\x1b[2J\xe9", "-o", here});
    EXPECT_EQ(missing.exit, 10);
    EXPECT_EQ(missing.err.find('\x1b'), std::string::npos) << "nothing of a name reaches the terminal raw";
}

TEST_F(SaveProcess, NamesInBracketsAreNames) {
    Serving serving(root);
    source("x", "not meant");
    source("[x]", "one");
    source("[a,b]", "two");
    ASSERT_EQ(::chdir(here.c_str()), 0);
    const auto both = run({"save", "[x]", "--jobs", "2", "[a,b]", serving.uri()});
    const auto under_another = run({"save", "[x]", serving.uri(), "--as", "[y]"});
    const auto after_dashes = run({"save", "--as", "z", "--", "[a,b]", serving.uri()});
    ASSERT_EQ(::chdir("/"), 0);
    EXPECT_EQ(both.exit, 0) << both.err;
    EXPECT_EQ(under_another.exit, 0) << under_another.err;
    EXPECT_EQ(after_dashes.exit, 0) << after_dashes.err;
    EXPECT_EQ(saved("[x]"), "one");
    EXPECT_EQ(saved("[a,b]"), "two");
    EXPECT_EQ(saved("[y]"), "one");
    EXPECT_EQ(saved("z"), "two");
    EXPECT_FALSE(on_server("x"));
}

TEST_F(SaveProcess, FoldersAreReachedAndNotMade) {
    Serving serving(root);
    fs::create_directory(fs::path(root) / "logs");
    const auto path = source("a", "x");
    EXPECT_EQ(run({"save", path, serving.uri() + "/logs/"}).exit, 0);
    EXPECT_EQ(saved("logs/a"), "x");
    const auto missing = run({"save", path, serving.uri() + "/nowhere"});
    EXPECT_EQ(missing.exit, 10);
    EXPECT_NE(missing.err.find("its directory is missing"), std::string::npos) << missing.err;
}

TEST_F(SaveProcess, AFileReplacesNoDirectoryOnEitherSide) {
    Serving serving(root);
    fs::create_directory(fs::path(root) / "d");
    folder.put("root/d/inside", "precious");
    const auto path = source("a", "x");
    for (const Words& more : {Words{}, Words{"--replace"}}) {
        Words words{"save", "--as", "d", path, serving.uri()};
        words.insert(words.end(), more.begin(), more.end());
        EXPECT_EQ(run(words).exit, 11);
    }
    EXPECT_EQ(saved("d/inside"), "precious");
    EXPECT_EQ(run({"save", path, serving.uri()}).exit, 0);
    fs::create_directories(folder.at("back/a"));
    EXPECT_EQ(run({"fetch", "--replace", serving.uri() + "/a", "-o", folder.at("back")}).exit, 11);
    EXPECT_TRUE(fs::is_directory(folder.at("back/a")));
}

TEST_F(SaveProcess, AFullDiskIsToldAndLosesNothing) {
    const SmallDisk disk(root, 4 << 20);
    if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
    Serving serving(root);
    EXPECT_EQ(run({"save", source("a", "old"), serving.uri()}).exit, 0);
    const auto full = run({"save", "--replace", source("a", pattern(6 << 20)), serving.uri()});
    EXPECT_EQ(full.exit, 5) << full.err;
    EXPECT_EQ(saved("a"), "old");
    EXPECT_EQ(run({"save", source("b", pattern(1 << 20)), serving.uri()}).exit, 0) << "it goes on serving";
}

TEST_F(SaveProcess, WhatTheServerKeepsFreeIsNotFilledByManyFiles) {
    const SmallDisk disk(root, 4 << 20);
    if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
    Serving serving(root, {"--keep-free", "2M"});
    Words command{"save", "-j", "8"};
    for (unsigned i = 0; i < 16; ++i) command.push_back(source("f" + std::to_string(i), pattern(300 << 10)));
    command.push_back(serving.uri());
    const auto full = run(command);
    EXPECT_EQ(full.exit, 5) << full.err;
    EXPECT_NE(full.err.find("--keep-free"), std::string::npos) << full.err;
    EXPECT_GE(fs::space(root).available, std::uintmax_t{1} << 20) << "but for a window of each thread that writes";
    for (unsigned i = 0; i < 16; ++i) fs::remove(fs::path(root) / ("f" + std::to_string(i)));
    EXPECT_EQ(run({"save", source("small", "x"), serving.uri()}).exit, 0) << "it goes on serving";
}

TEST_F(SaveProcess, OneClientHasAShareOfWhatIsUnderWay) {
    Serving serving(root, {"--client-bytes", "1M"});
    const auto too_large = run({"save", source("a", pattern(2 << 20)), serving.uri()});
    EXPECT_EQ(too_large.exit, 11) << too_large.err;
    EXPECT_NE(too_large.err.find("--client-bytes"), std::string::npos) << too_large.err;
    EXPECT_EQ(run({"save", source("b", pattern(1 << 20)), serving.uri()}).exit, 0);
}

TEST_F(SaveProcess, AQuotaIsNotEvadedByConnectingAgain) {
    Serving serving(root, {"--client-quota", "3M", "--client-quota-files", "2"});
    EXPECT_EQ(run({"save", source("a", pattern(2 << 20)), serving.uri()}).exit, 0);
    const auto bytes = run({"save", source("b", pattern(2 << 20)), serving.uri()});
    EXPECT_EQ(bytes.exit, 5) << bytes.err;
    EXPECT_NE(bytes.err.find("--client-quota)"), std::string::npos) << bytes.err;
    EXPECT_EQ(run({"save", source("b", "small"), serving.uri()}).exit, 0);
    const auto files = run({"save", source("c", ""), serving.uri()});
    EXPECT_EQ(files.exit, 5) << files.err;
    EXPECT_NE(files.err.find("--client-quota-files"), std::string::npos) << files.err;
}

TEST_F(SaveProcess, ARateIsKept) {
    Serving serving(root, {"--rate", "8M"});
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(run({"save", "--rate", "16M", source("a", pattern(5 << 20)), serving.uri()}).exit, 0);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500))
        << "four windows after the first";
    EXPECT_EQ(run({"save", "--rate", "0", source("b", ""), serving.uri()}).exit, 1);
    EXPECT_EQ(run({"serve", "--root", root, "--rate", "255k"}).exit, 1);
}

TEST_F(SaveProcess, ADiskThatFillsUpOnTheWayIsToldAndLosesNothing) {
    constexpr std::size_t limit = 3 << 20;
    Serving serving(root, {}, {.file_bytes_max = limit});
    folder.put("root/a", "old");
    const auto full = run({"save", "--replace", source("a", pattern(20 << 20)), serving.uri()});
    EXPECT_EQ(full.exit, 5) << full.err;
    EXPECT_EQ(saved("a"), "old");
    EXPECT_EQ(run({"save", source("b", pattern(1 << 20)), serving.uri()}).exit, 0) << "it goes on serving";
    EXPECT_TRUE(eventually([&] {
        return run({"list", "--clean", serving.uri()}).out.find(" 1 ") != std::string::npos;
    })) << "what there was of it";
    EXPECT_TRUE(fs::is_empty(fs::path(root) / ".cinnabar-staging"));
}

TEST_F(SaveProcess, ReadOnlyGivesAndTakesNothing) {
    folder.put("root/a", "x");
    Serving serving(root, {"--read-only"});
    EXPECT_EQ(run({"save", source("b", "y"), serving.uri()}).exit, 4);
    EXPECT_EQ(run({"fetch", serving.uri() + "/a", "-o", here}).exit, 0);
    EXPECT_EQ(Folder::list_of(root), Words{"a"});
}

TEST_F(SaveProcess, NobodyThere) {
    // A port that is bound but does not listen, so that no other process can take it meanwhile.
    const int bound = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(bound, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::getsockname(bound, reinterpret_cast<sockaddr*>(&address), &size), 0);
    const auto uri = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    const auto path = source("a", "x");
    const auto outcome = run({"save", path, uri});
    EXPECT_EQ(outcome.exit, 2);
    EXPECT_NE(outcome.err.find("refused"), std::string::npos) << outcome.err;
    EXPECT_EQ(run({"fetch", uri + "/a", "-o", here}).exit, 2);
    EXPECT_EQ(run({"ping", "-c", "1", uri}).exit, 2);
    EXPECT_EQ(run({"save", path, "unknown://127.0.0.1:1"}).exit, 2);
    ::close(bound);
}

TEST_F(SaveProcess, JsonHasOneObjectALine) {
    Serving serving(root);
    folder.put("root/b", "old");
    const auto a = source("a", "hello");
    const auto b = source("b", "new");
    const auto outcome = run({"save", "--json", "-j", "1", a, b, serving.uri()});
    EXPECT_EQ(outcome.exit, 3);
    EXPECT_EQ(outcome.err, "");
    std::vector<std::string> lines;
    std::istringstream text(outcome.out);
    for (std::string line; std::getline(text, line);) {
        if (!line.starts_with(R"({"event": "progress", )")) lines.push_back(line);  // there is one per second
    }
    ASSERT_EQ(lines.size(), 3u) << outcome.out;
    // The 64-bit XXH3 of "hello", as xxhsum -H3 prints it.
    EXPECT_TRUE(lines[0].starts_with(R"({"event": "file", "ok": true, "name": "a", "path": ")" + a +
                                     R"(", "bytes": 5, "checksum": "xxh3:9555e8555c62dcfd", "seconds": )"))
        << lines[0];
    EXPECT_TRUE(lines[1].starts_with(R"({"event": "file", "ok": false, "name": "b", "path": ")" + b +
                                     R"(", "error": {"code": "exists", "text": ")"))
        << lines[1];
    EXPECT_TRUE(lines[1].ends_with(R"(, "exit": 3}})")) << lines[1];
    EXPECT_TRUE(lines[2].starts_with(R"({"event": "summary", "files": 2, "done": 1, "failed": 1, "bytes": 5, )"))
        << lines[2];
    EXPECT_NE(lines[2].find(R"(, "reasons": [{"code": "exists", "text": "exists: )"), std::string::npos) << lines[2];
    EXPECT_TRUE(lines[2].ends_with(R"(, "count": 1}], "exit": 3})")) << lines[2];
}

TEST_F(SaveProcess, AServerOnTwoEndpointsHasOneAddress) {
    Serving serving(root, {"--listen", "tcp://127.0.0.1:0", "--listen", "tcp://127.0.0.2:0"});
    EXPECT_EQ(std::count(serving.uri().begin(), serving.uri().end(), ','), 1) << serving.uri();
    EXPECT_EQ(run({"save", "--as", "b", source("a", "x"), serving.uri()}).exit, 0);
    EXPECT_EQ(saved("b"), "x");
    const auto ping = run({"ping", "-c", "1", "--transport", "tcp", serving.uri()});
    EXPECT_EQ(ping.exit, 0) << ping.err;
    EXPECT_TRUE(ping.out.starts_with("over tcp\n")) << ping.out;
    EXPECT_EQ(run({"ping", "-c", "1", "--transport", "self", serving.uri()}).exit, 2);
}

TEST_F(SaveProcess, OnThisHostSharedMemoryIsTakenByItself) {
    Serving serving(root, {"--listen", "tcp://127.0.0.1:0", "--listen", "shm://"});
    EXPECT_EQ(run({"save", "--as", "b", source("a", pattern(3 << 20)), serving.uri()}).exit, 0);
    EXPECT_EQ(saved("b"), pattern(3 << 20));
    const auto itself = run({"ping", "-c", "1", serving.uri()});
    EXPECT_TRUE(itself.out.starts_with("over shm: the server is on this host\n")) << itself.out << itself.err;
    const auto forced = run({"ping", "-c", "1", "--transport", "tcp", serving.uri()});
    EXPECT_TRUE(forced.out.starts_with("over tcp: ")) << forced.out << forced.err;
}

TEST_F(SaveProcess, TheReadyFileHasTheAddress) {
    Serving serving(root, {"--ready-file", folder.at("ready"), "--listen", "tcp://127.0.0.1:0"});
    EXPECT_EQ(folder.get("ready"), serving.uri() + "\n");
    EXPECT_FALSE(serving.uri().ends_with(":0"));
}

TEST_F(SaveProcess, AServerWhoseMessagesNobodyReadsServesAndEnds) {
    Serving serving(root, {"-v"});
    // Each of these is reported with its long name, together far more than fits in the pipe.
    const std::string filler(200, 'x');
    Words missing{"fetch", "-q", "-o", here};
    for (int i = 0; i < 1000; ++i) missing.push_back(serving.uri() + "/" + filler + std::to_string(i));
    EXPECT_EQ(run(missing).exit, 10);
    EXPECT_EQ(run({"save", source("a", "abc"), serving.uri()}).exit, 0);
    EXPECT_EQ(saved("a"), "abc");
    serving.process().send(SIGTERM);
    EXPECT_EQ(serving.process().wait_unread(), 0);
}

// Greets as a peer does and then sends malformed control messages, over as many connections as necessary, and never
// reads.
class MalformedBytes {
  public:
    explicit MalformedBytes(const std::string& uri) : port_(na::Uri::parse(uri).value().port.value()) { connect(); }
    void send(unsigned messages) {
        std::array<std::byte, 16 + 24> frame{};
        frame[0] = std::byte{1};   // an unexpected message
        frame[4] = std::byte{24};  // the number of its bytes
        frame[16] = std::byte{3};  // control
        frame[18] = std::byte{7};  // the number of records: more than there is room for
        for (unsigned i = 0; i < messages; ++i) {
            if (!put(frame)) connect();
        }
    }

  private:
    bool put(std::span<const std::byte> bytes) {
        return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
    }
    void connect() {
        fd_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port_);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ASSERT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        na::Hello hello;
        hello.kind = na::HelloKind::dial;
        hello.incarnation = ++incarnation_;
        hello.message_bytes_max = 16 * 1024;
        hello.credits = 2;
        std::array<std::byte, na::hello_bytes + 16> greeting{};  // the token of a first lane is zeros
        hello.encode(std::span(greeting).first<na::hello_bytes>());
        ASSERT_TRUE(put(greeting));
        ASSERT_EQ(::recv(fd_.get(), greeting.data(), greeting.size(), MSG_WAITALL), greeting.size());
    }
    const std::uint16_t port_;
    na::Incarnation incarnation_ = 1000;
    UniqueFd fd_;
};

TEST_F(SaveProcess, AStrangersMalformedBytesStopNoServerWhoseMessagesNobodyReads) {
    Serving serving(root, {"--listen", "tcp://127.0.0.1:0", "--insecure"});
    MalformedBytes(serving.uri()).send(5000);
    Process ping({"ping", "-c", "1", serving.uri()});
    EXPECT_EQ(ping.wait(std::chrono::seconds(30)), 0) << ping.err();
    serving.process().send(SIGTERM);
    EXPECT_EQ(serving.process().wait_unread(), 0);
    const auto told = serving.process().err();
    EXPECT_LT(std::count(told.begin(), told.end(), '\n'), 100) << "a stranger filled the log: " << told.substr(0, 2000);
}

TEST_F(SaveProcess, AReportThatCannotBeWrittenIsAnError) {
    Serving serving(root);
    const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    Process client({"save", source("a", "x"), serving.uri()}, {.out_fd = full.get()});
    EXPECT_EQ(client.wait(), 12) << client.err();
    EXPECT_EQ(saved("a"), "x");
}

TEST_F(SaveProcess, AServerTakesTheDescriptorsItMayHave) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit low{std::min<rlim_t>(256, before.rlim_max / 2), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    Serving serving(root);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit of_server{};
    ASSERT_EQ(::prlimit(serving.process().pid(), RLIMIT_NOFILE, nullptr, &of_server), 0);
    EXPECT_EQ(of_server.rlim_cur, before.rlim_max);
}

// A client with more files in progress than the server may open leaves some descriptors for the next client.
TEST_F(SaveProcess, FewDescriptorsAreShared) {
    Serving serving(root, {}, {.files_max = 64});
    Words many{"save", "-q", "-j", "64"};
    for (int i = 0; i < 64; ++i) {
        many.push_back(source("file-" + std::to_string(i), ""));
        fs::resize_file(many.back(), 64 << 20);
    }
    many.push_back(serving.uri());
    Process greedy(many);
    ASSERT_TRUE(eventually([&] {
        std::error_code ignored;
        return !fs::is_empty(fs::path(root) / ".cinnabar-staging", ignored);
    }));
    greedy.send(SIGSTOP);
    const auto modest = run({"save", source("modest", "x"), serving.uri()});
    greedy.send(SIGCONT);
    EXPECT_EQ(modest.exit, 0) << modest.err;
    EXPECT_EQ(greedy.wait(), 13) << greedy.err();
    EXPECT_NE(greedy.err().find("too many files of this client are under way"), std::string::npos) << greedy.err();
    EXPECT_EQ(run({"save", source("next", "x"), serving.uri()}).exit, 0) << "and all are free again";
}

TEST_F(SaveProcess, FetchMakesItsFolder) {
    Serving serving(root);
    folder.put("root/a", "x");
    const auto fetched = run({"fetch", serving.uri() + "/a", "-o", folder.at("new/one")});
    EXPECT_EQ(fetched.exit, 0) << fetched.err;
    EXPECT_EQ(folder.get("new/one/a"), "x");
    folder.put("file", "x");
    EXPECT_EQ(run({"fetch", serving.uri() + "/a", "-o", folder.at("file/below")}).exit, 11) << "no directory";
}

TEST_F(SaveProcess, AnAddressToListenOnThatMeansNothing) {
    for (const auto* uri : {"foo://x:1", "tcp://256.1.1.1:0"}) {
        const auto serve = run({"serve", "--root", root, "--insecure", "--listen", uri});
        EXPECT_EQ(serve.exit, 1) << serve.err;
        EXPECT_NE(serve.err.find("bad address"), std::string::npos) << serve.err;
    }
}

TEST_F(SaveProcess, CommandLinesThatMakeNoSense) {
    for (const Words& words : {Words{}, Words{"save"}, Words{"save", "file"}, Words{"bogus"}, Words{"serve"},
                               Words{"save", "file", "not-an-address"}, Words{"save", "a", "b", "tcp://x", "--as", "c"},
                               Words{"save", "a", "tcp://127.0.0.1:1", "--as", ""}, Words{"fetch", "tcp://127.0.0.1:1"},
                               Words{"serve", "--root", root, "--listen", "tcp://0.0.0.0:0"},
                               Words{"serve", "--root", root, "--listen", "tcp://:0"}})
        EXPECT_EQ(run(words).exit, 1);
    EXPECT_EQ(run({"--help"}).exit, 0);
    EXPECT_EQ(run({"save", "--help"}).exit, 0);
    EXPECT_EQ(run({"--version"}).exit, 0);
}

}  // namespace
}  // namespace cinnabar::tools
