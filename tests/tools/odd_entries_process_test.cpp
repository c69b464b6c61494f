// SPDX-License-Identifier: BSD-3-Clause
// Trees with entries that commands rarely meet: extended attributes and access control lists, devices, sockets and
// pipes, and entries that go, or become links, while the command runs.
#include "process.hpp"
#include "support/content.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

constexpr const char* note_attribute = "user.note";
constexpr const char* access_list = "system.posix_acl_access";
constexpr const char* default_list = "system.posix_acl_default";

// An access control list as the kernel encodes it: a version, then for each entry tag, permissions and id. One user
// more than the mode shows may read.
std::string list_for_one_more() {
    const std::string nobody("\xff\xff\xff\xff", 4);
    const auto entry = [](char tag, char permissions, const std::string& id) {
        return std::string{tag, '\0', permissions, '\0'} + id;
    };
    return std::string("\2\0\0\0", 4) + entry(1, 7, nobody) + entry(2, 4, std::string("\xfd\xff\0\0", 4)) +
           entry(4, 4, nobody) + entry(16, 4, nobody) + entry(32, 0, nobody);
}

bool set_attribute(const std::string& path, const char* name, const std::string& value) {
    return ::lsetxattr(path.c_str(), name, value.data(), value.size(), 0) == 0;
}

std::optional<std::string> attribute_at(const std::string& path, const char* name) {
    std::array<char, 4096> value{};
    const ssize_t bytes = ::lgetxattr(path.c_str(), name, value.data(), value.size());
    if (bytes < 0) return std::nullopt;
    return std::string(value.data(), static_cast<std::size_t>(bytes));
}

struct OddEntries : testing::Test {
    Folder folder;
    std::string root = folder.at("root");
    std::string tree = folder.at("tree");
    OddEntries() {
        fs::create_directory(root);
        fs::create_directories(tree + "/d");
        (void)folder.put("tree/stays", "stays");
        (void)folder.put("tree/d/file", "ours");
    }
    // A server in this process; `event` is called with each request, on the server's loop.
    std::string serve(std::function<void(const files::AccessRequest&)> event) {
        files::ServerHooks hooks;
        hooks.may_access = [event = std::move(event)](const files::AccessRequest& access) -> Result<void> {
            event(access);
            return {};
        };
        server_ = files::Server::make(files::Root::serve(root).value(), {}, {}, hooks).value();
        node_.emplace(hl::Node::listen("tcp://127.0.0.1:0").value());
        EXPECT_TRUE(server_->serve_on(*node_).ok());
        return node_->endpoints().front();
    }
    // Moves a folder away, and a link that leads to another one takes its name.
    void make_link_of(const std::string& path, const std::string& target) const {
        fs::rename(path, folder.at("moved away"));
        fs::create_symlink(target, path);
    }
    static void expect_told(const Outcome& moved, const std::string& path, const std::string& why) {
        const auto told = moved.err.find(path + ": ");
        ASSERT_NE(told, std::string::npos) << path << " in " << moved.err;
        const auto line = moved.err.substr(told, moved.err.find('\n', told) - told);
        EXPECT_NE(line.find(why), std::string::npos) << line;
    }

  private:
    std::unique_ptr<files::Server> server_;
    std::optional<hl::Node> node_;
};

using Kind = files::AccessRequest::Kind;

TEST_F(OddEntries, AttributesAndAccessListsGoThereAndBackIfAskedFor) {
    const std::string note("any\0bytes\xff", 10);
    const auto list = list_for_one_more();
    (void)folder.put("tree/large", pattern(300'000));  // is moved by itself
    const Words names{"/stays", "/large", "/d", "/d/file"};
    for (const auto& name : names) {
        if (!set_attribute(tree + name, note_attribute, note)) GTEST_SKIP() << "no user.* attributes here";
        if (!set_attribute(tree + name, access_list, list)) GTEST_SKIP() << "no access control lists here";
    }
    ASSERT_TRUE(set_attribute(tree + "/d", default_list, list));
    Serving serving(root);
    const auto saved = run({"save", "--xattrs", "--acls", tree, serving.uri()});
    EXPECT_EQ(saved.exit, 0) << saved.err;
    const auto fetched = run({"fetch", "--xattrs", "--acls", serving.uri() + "/tree", "-o", folder.at("back")});
    EXPECT_EQ(fetched.exit, 0) << fetched.err;
    const auto bare = run({"fetch", serving.uri() + "/tree", "-o", folder.at("bare")});
    EXPECT_EQ(bare.exit, 0) << bare.err;
    for (const auto& name : names) {
        for (const auto& there : {root + "/tree" + name, folder.at("back/tree") + name}) {
            EXPECT_EQ(attribute_at(there, note_attribute), note) << there;
            EXPECT_EQ(attribute_at(there, access_list), list) << there;
        }
        EXPECT_FALSE(attribute_at(folder.at("bare/tree") + name, note_attribute)) << name;
        EXPECT_FALSE(attribute_at(folder.at("bare/tree") + name, access_list)) << name;
    }
    EXPECT_EQ(attribute_at(root + "/tree/d", default_list), list);
    EXPECT_EQ(attribute_at(folder.at("back/tree/d"), default_list), list);
}

TEST_F(OddEntries, SocketsAndPipesAreToldAndLeftOut) {
    fs::create_directory(root + "/t");
    (void)folder.put("root/t/stays", "stays");
    for (const auto& in : {tree, root + "/t"}) {
        ASSERT_EQ(::mkfifo((in + "/pipe").c_str(), 0600), 0);
        const auto path = in + "/socket";
        const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        ASSERT_LT(path.size(), sizeof at.sun_path);
        (void)path.copy(at.sun_path, path.size());
        ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    }
    Serving serving(root);
    const auto saved = run({"save", tree, serving.uri()});
    EXPECT_EQ(saved.exit, 11) << saved.err;
    const auto fetched = run({"fetch", serving.uri() + "/t", "-o", folder.at("back")});
    EXPECT_EQ(fetched.exit, 11) << fetched.err;
    for (const std::string name : {"/pipe", "/socket"}) {
        expect_told(saved, tree + name, "a device, socket or pipe: left out");
        expect_told(fetched, "t" + name, "a device, socket or pipe: left out");
    }
    EXPECT_EQ(Folder::list_of(root + "/tree"), (Words{"d", "d/file", "stays"}));
    EXPECT_EQ(Folder::list_of(folder.at("back")), (Words{"t", "t/stays"}));
}

TEST_F(OddEntries, ADeviceIsToldAndLeftOut) {
    if (::mknod((tree + "/null").c_str(), S_IFCHR | 0600, ::makedev(1, 3)) != 0)
        GTEST_SKIP() << "no device can be made here: " << std::strerror(errno);
    Serving serving(root);
    const auto saved = run({"save", tree, serving.uri()});
    EXPECT_EQ(saved.exit, 11) << saved.err;
    expect_told(saved, tree + "/null", "a device, socket or pipe: left out");
    EXPECT_EQ(Folder::list_of(root + "/tree"), (Words{"d", "d/file", "stays"}));
}

// The first folder is made when the whole tree was found.
TEST_F(OddEntries, FilesThatVanishDuringASaveAreTold) {
    (void)folder.put("tree/gone", "small");
    (void)folder.put("tree/gone too", pattern(300'000));
    const auto uri = serve([&](const files::AccessRequest& access) {
        if (access.kind != Kind::make || access.name != "tree") return;
        fs::remove(tree + "/gone");
        fs::remove(tree + "/gone too");
    });
    const auto saved = run({"save", "--insecure", tree, uri});
    EXPECT_EQ(saved.exit, 10) << saved.err;
    expect_told(saved, tree + "/gone", "not found");
    expect_told(saved, tree + "/gone too", "not found");
    EXPECT_EQ(Folder::list_of(root + "/tree"), (Words{"d", "d/file", "stays"}));
}

TEST_F(OddEntries, AFolderThatBecomesALinkDuringASaveIsNoWayOut) {
    fs::create_directory(folder.at("outside"));
    (void)folder.put("outside/file", "secret");
    const auto uri = serve([&](const files::AccessRequest& access) {
        if (access.kind == Kind::make && access.name == "tree" && !fs::is_symlink(tree + "/d"))
            make_link_of(tree + "/d", folder.at("outside"));
    });
    const auto saved = run({"save", "--insecure", tree, uri});
    EXPECT_EQ(saved.exit, 4) << saved.err;
    expect_told(saved, tree + "/d/file", "permission");
    EXPECT_EQ(Folder::list_of(root + "/tree"), (Words{"d", "stays"}));
}

TEST_F(OddEntries, AFileThatVanishesDuringAFetchIsTold) {
    fs::copy(tree, root + "/t", fs::copy_options::recursive);
    (void)folder.put("root/t/gone", "small");
    const auto uri = serve([&](const files::AccessRequest& access) {
        if (access.kind == Kind::fetch && access.name == "t/gone") fs::remove(root + "/t/gone");
    });
    const auto fetched = run({"fetch", "--insecure", uri + "/t", "-o", folder.at("back")});
    EXPECT_EQ(fetched.exit, 10) << fetched.err;
    expect_told(fetched, "t/gone", "not found");
    EXPECT_EQ(Folder::list_of(folder.at("back/t")), (Words{"d", "d/file", "stays"}));
}

TEST_F(OddEntries, AServersFolderThatBecomesALinkDuringAFetchIsNoWayOut) {
    fs::copy(tree, root + "/t", fs::copy_options::recursive);
    fs::create_directory(folder.at("outside"));
    (void)folder.put("outside/file", "secret");
    const auto uri = serve([&](const files::AccessRequest& access) {
        if (access.kind == Kind::fetch && access.name == "t/d/file" && !fs::is_symlink(root + "/t/d"))
            make_link_of(root + "/t/d", folder.at("outside"));
    });
    const auto fetched = run({"fetch", "--insecure", uri + "/t", "-o", folder.at("back")});
    EXPECT_EQ(fetched.exit, 4) << fetched.err;
    EXPECT_EQ(Folder::list_of(folder.at("back/t")), (Words{"d", "stays"}));
}

TEST_F(OddEntries, AFolderOfThisSideThatBecomesALinkDuringAFetchIsNoWayOut) {
    fs::copy(tree, root + "/t", fs::copy_options::recursive);
    fs::create_directory(folder.at("outside"));
    const auto here = folder.at("back/t/d");
    const auto uri = serve([&, here](const files::AccessRequest& access) {
        if (access.kind == Kind::fetch && access.name == "t/d/file" && !fs::is_symlink(here))
            make_link_of(here, folder.at("outside"));
    });
    const auto fetched = run({"fetch", "--insecure", uri + "/t", "-o", folder.at("back")});
    EXPECT_NE(fetched.exit, 0) << fetched.err;
    EXPECT_TRUE(fs::is_empty(folder.at("outside"))) << fetched.err;
    EXPECT_EQ(folder.get("back/t/stays"), "stays");
}

}  // namespace
}  // namespace cinnabar::tools
