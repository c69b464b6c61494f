// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar save --push`, with which the client writes to the server's buffers; and `--no-checksum` in either mode.
#include "process.hpp"
#include "support/content.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

struct PushProcess : testing::Test {
    Folder folder;
    std::string root = folder.at("root");
    PushProcess() {
        fs::create_directory(root);
        fs::create_directory(folder.at("here"));
    }
    std::string source(const std::string& name, std::size_t bytes) {
        return folder.put("here/" + name, pattern(bytes, static_cast<unsigned>(bytes)));
    }
    void expect_saved(const std::string& name) {
        EXPECT_TRUE(folder.get("root/" + name) == folder.get("here/" + name)) << name;
    }
};

TEST_F(PushProcess, FilesOfEverySizeGetThere) {
    Serving serving(root);
    constexpr std::size_t window = 1 << 20;
    Words save{"save", "--push"};
    Words names;
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{4097}, window - 1, window, window + 1, 23 * window + 12'345}) {
        names.push_back("file-" + std::to_string(bytes));
        save.push_back(source(names.back(), bytes));
    }
    save.push_back(serving.uri());
    const auto there = run(save);
    ASSERT_EQ(there.exit, 0) << there.err;
    for (const auto& name : names) expect_saved(name);
}

TEST_F(PushProcess, ManyClientsShareFewBuffers) {
    Serving serving(root, {"--buffers", "2M"});
    std::vector<std::unique_ptr<Process>> clients;
    for (std::size_t i = 0; i < 6; ++i) {
        const auto path = source("file-" + std::to_string(i), 3'000'000 + i);
        clients.push_back(std::make_unique<Process>(Words{"save", "--push", path, serving.uri()}));
    }
    for (auto& client : clients) EXPECT_EQ(client->wait(), 0) << client->err();
    for (std::size_t i = 0; i < clients.size(); ++i) expect_saved("file-" + std::to_string(i));
}

TEST_F(PushProcess, WithoutChecksumsNoneIsTold) {
    Serving serving(root);
    const auto pushed = run({"save", "--json", "--push", "--no-checksum", source("a", 3'000'000), serving.uri()});
    ASSERT_EQ(pushed.exit, 0) << pushed.err << pushed.out;
    EXPECT_EQ(pushed.out.find("checksum"), std::string::npos) << pushed.out;
    const auto pulled = run({"save", "--json", "--no-checksum", source("b", 3'000'000), serving.uri()});
    ASSERT_EQ(pulled.exit, 0) << pulled.err << pulled.out;
    EXPECT_EQ(pulled.out.find("checksum"), std::string::npos) << pulled.out;
    const auto checked = run({"save", "--json", "--push", source("c", 3'000'000), serving.uri()});
    EXPECT_NE(checked.out.find("\"checksum\": \"xxh3:"), std::string::npos) << checked.out;
    for (const char* name : {"a", "b", "c"}) expect_saved(name);
}

TEST_F(PushProcess, AFullDiskIsTold) {
    Serving serving(root, {}, {.file_bytes_max = 2 << 20});  // limits the size of the server's files
    const auto result = run({"save", "--push", source("large", 9 << 20), serving.uri()});
    EXPECT_EQ(result.exit, 5) << result.err;
    EXPECT_FALSE(fs::exists(fs::path(root) / "large"));
    EXPECT_EQ(run({"save", "--push", source("small", 1000), serving.uri()}).exit, 0);
    expect_saved("small");
}

}  // namespace
}  // namespace cinnabar::tools
