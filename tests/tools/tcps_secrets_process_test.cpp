// SPDX-License-Identifier: BSD-3-Clause
// Keys, and the private keys of certificates: in no argument, no output and no log of either side, however much is
// logged, and in no core dump of a server.
#include "process.hpp"
#include "support/folder.hpp"
#include "support/memory_map.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace cinnabar::tools {
namespace {

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Surroundings logging_all() {
    Surroundings in;
    in.environment = {"CINNABAR_LOG=debug"};
    return in;
}

class SecretsProcess : public testing::Test {
  protected:
    SecretsProcess() { std::filesystem::create_directory(folder_.at("root")); }

    // Runs a command, and keeps what it said.
    int told(const Words& words) {
        const Outcome outcome = run(words, logging_all());
        said_ += outcome.out + outcome.err;
        return outcome.exit;
    }
    // Keeps what others see of a server, and ends it.
    void end(Serving& serving) {
        const std::string arguments = content_of("/proc/" + std::to_string(serving.process().pid()) + "/cmdline");
        EXPECT_NE(arguments.find("serve"), std::string::npos);
        said_ += arguments;
        serving.process().send(SIGTERM);
        EXPECT_TRUE(serving.process().wait()) << "it goes on";
        said_ += serving.process().out() + serving.process().err();
    }
    void expect_unsaid(const std::string& secret) {
        ASSERT_GE(secret.size(), 32u);
        EXPECT_EQ(said_.find(secret), std::string::npos) << said_;
    }
    [[nodiscard]] std::string digits_of(const std::string& key_file) const {
        const std::string line = folder_.get(key_file);
        const std::size_t colon = line.find(':');
        return line.substr(colon + 1, line.find('\n') - colon - 1);
    }

    support::Folder folder_;
    std::string said_;
};

TEST_F(SecretsProcess, OfSharedKeysAreInNoArgumentOutputOrLog) {
    const std::string key = folder_.at("key");
    const std::string wrong = folder_.at("wrong");
    for (const std::string& path : {key, wrong}) ASSERT_EQ(told({"key", "new", path, "--name", "fleet"}), 0) << said_;
    const std::string file = folder_.put("a", "text");
    Serving serving(folder_.at("root"), {"--listen", "tcps://127.0.0.1:0", "--key-file", key}, logging_all());
    ASSERT_FALSE(serving.uri().empty());
    EXPECT_EQ(told({"save", file, serving.uri(), "--key-file", key}), 0) << said_;
    EXPECT_NE(told({"save", "--replace", file, serving.uri(), "--key-file", wrong}), 0);
    end(serving);
    EXPECT_NE(said_.find("key files"), std::string::npos) << "who was refused is told about files, at least: " << said_;
    expect_unsaid(digits_of("key"));
    expect_unsaid(digits_of("wrong"));
}

TEST_F(SecretsProcess, OfCertificatesAreInNoArgumentOutputOrLog) {
    const std::string ca = folder_.at("ca");
    ASSERT_EQ(told({"cert", "ca", ca}), 0) << said_;
    ASSERT_EQ(told({"cert", "server", ca, "storage", "--host", "127.0.0.1"}), 0) << said_;
    ASSERT_EQ(told({"cert", "client", ca, "ann"}), 0) << said_;
    const std::string authority = ca + "/ca.pem";
    const std::string file = folder_.put("a", "text");
    Serving serving(folder_.at("root"),
                    {"--listen", "tcps://127.0.0.1:0", "--cert", ca + "/storage.pem", "--cert-key", ca + "/storage.key",
                     "--ca", authority},
                    logging_all());
    ASSERT_FALSE(serving.uri().empty());
    const Words ann{"--cert", ca + "/ann.pem", "--cert-key", ca + "/ann.key", "--ca", authority};
    Words save{"save", file, serving.uri()};
    save.insert(save.end(), ann.begin(), ann.end());
    EXPECT_EQ(told(save), 0) << said_;
    end(serving);
    for (const char* name : {"ca/ca.key", "ca/storage.key", "ca/ann.key"}) {
        std::istringstream lines(folder_.get(name));
        unsigned searched = 0;
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("-----") || line.size() < 32) continue;
            expect_unsaid(line);
            ++searched;
        }
        EXPECT_GE(searched, 1u) << name;
    }
}

// In how many parts of the memory of a process these bytes are.
struct Holders {
    unsigned dumped = 0;  // by a core dump
    unsigned left_out = 0;
};

bool has_bytes(int memory, const support::Mapping& mapping, const std::string& bytes) {
    std::vector<char> part(1u << 20);
    // The parts overlap, so that no copy is cut.
    for (std::uintptr_t at = mapping.begin; at < mapping.end; at += part.size() - bytes.size()) {
        const auto wanted = std::min<std::uintptr_t>(part.size(), mapping.end - at);
        const ssize_t have = ::pread(memory, part.data(), wanted, static_cast<off_t>(at));
        if (have <= 0) return false;
        if (::memmem(part.data(), static_cast<std::size_t>(have), bytes.data(), bytes.size())) return true;
    }
    return false;
}

Holders holders_of(int pid, int memory, const std::string& bytes) {
    constexpr std::uintptr_t searched_max = 256u << 20;  // the shadow memory of sanitizers is larger
    Holders found;
    for (const support::Mapping& each : support::mappings(std::to_string(pid))) {
        if (!each.access.starts_with("rw") || each.end - each.begin > searched_max) continue;
        if (has_bytes(memory, each, bytes)) ++(each.has("dd") ? found.left_out : found.dumped);
    }
    return found;
}

TEST_F(SecretsProcess, AreInNoCoreDumpOfAServer) {
    const std::string key = folder_.at("key");
    ASSERT_EQ(told({"key", "new", key, "--name", "fleet"}), 0) << said_;
    Serving serving(folder_.at("root"), {"--listen", "tcps://127.0.0.1:0", "--key-file", key});
    ASSERT_FALSE(serving.uri().empty());
    const int pid = serving.process().pid();
    const UniqueFd memory(::open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
    if (!memory) GTEST_SKIP() << "the memory of another process may not be read here";
    const std::string digits = digits_of("key");
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    ASSERT_EQ(bytes.size(), 32u);
    const Holders of_bytes = holders_of(pid, memory.get(), bytes);
    EXPECT_GE(of_bytes.left_out, 1u) << "it has the key";
    EXPECT_EQ(of_bytes.dumped, 0u);
    EXPECT_EQ(holders_of(pid, memory.get(), digits).dumped, 0u);
}

}  // namespace
}  // namespace cinnabar::tools
