// SPDX-License-Identifier: BSD-3-Clause
// Files over tcps and ofis, with keys and certificates made by `cinnabar key` and `cinnabar cert`.
#include "process.hpp"
#include "support/content.hpp"
#include "support/folder.hpp"
#include "support/test_key.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace cinnabar::tools {
namespace {

using support::Folder;

constexpr int exit_exists = 3;
constexpr int exit_permission = 4;
constexpr int exit_no_space = 5;

class TcpsProcess : public testing::Test {
  protected:
    TcpsProcess() { std::filesystem::create_directory(folder_.at("root")); }

    std::string new_key(const std::string& file, const std::string& name = "fleet") {
        const Outcome made = run({"key", "new", folder_.at(file), "--name", name});
        EXPECT_EQ(made.exit, 0) << made.err;
        return folder_.at(file);
    }
    Words certified(const std::string& name) {
        const std::string at = folder_.at("ca/" + name);
        return {"--cert", at + ".pem", "--cert-key", at + ".key", "--ca", folder_.at("ca/ca.pem")};
    }
    static Words joined(Words first, const Words& second) {
        first.insert(first.end(), second.begin(), second.end());
        return first;
    }
    // Saves a file and fetches it again; returns the exit code of the first command that fails.
    int moved(const std::string& uri, const Words& secrets) {
        const std::string file = folder_.put("a", std::string(100'000, 'a'));
        std::filesystem::remove_all(folder_.at("back"));
        const Outcome saved = run(joined({"save", "--replace", file, uri}, secrets));
        if (saved.exit != 0) return saved.exit;
        EXPECT_EQ(folder_.get("root/a").size(), 100'000u);
        const Outcome fetched = run(joined({"fetch", uri + "/a", "-o", folder_.at("back")}, secrets));
        return fetched.exit;
    }
    static Words listening(const std::string& address, const std::string& key) {
        return {"--listen", address, "--key-file", key};
    }
    void put_tree() {
        std::filesystem::create_directories(folder_.at("tree/d/empty"));
        (void)folder_.put("tree/small", "small");
        (void)folder_.put("tree/d/large", support::pattern((2u << 20) + 17));
        std::filesystem::create_symlink("../small", folder_.at("tree/d/link"));
    }
    void expect_tree(const std::string& at) {
        EXPECT_EQ(Folder::list_of(folder_.at(at)), Folder::list_of(folder_.at("tree"))) << at;
        for (const char* name : {"/small", "/d/large", "/d/link"})
            EXPECT_TRUE(folder_.get(at + name) == folder_.get(std::string("tree") + name)) << at << name;
    }
    void expect_trees_go_there_and_back(const std::string& address) {
        const std::string key = new_key("key");
        Serving serving(folder_.at("root"), listening(address, key));
        ASSERT_FALSE(serving.uri().empty()) << serving.process().err();
        put_tree();
        const Outcome saved = run({"save", "--key-file", key, folder_.at("tree"), serving.uri()});
        EXPECT_EQ(saved.exit, 0) << saved.err;
        expect_tree("root/tree");
        const Outcome fetched = run({"fetch", "--key-file", key, serving.uri() + "/tree", "-o", folder_.at("back")});
        EXPECT_EQ(fetched.exit, 0) << fetched.err;
        expect_tree("back/tree");
    }
    // The limit for the size of its files ends the first save as a full disk does.
    void expect_saves_to_resume(const std::string& address) {
        const std::string key = new_key("key");
        const std::string content = support::pattern(24u << 20);
        const std::string file = folder_.put("file", content);
        {
            Serving full(folder_.at("root"), listening(address, key), {.file_bytes_max = std::size_t{16} << 20});
            ASSERT_FALSE(full.uri().empty()) << full.process().err();
            EXPECT_EQ(run({"save", "--key-file", key, file, full.uri()}).exit, exit_no_space);
            full.process().send(SIGTERM);
            EXPECT_EQ(full.process().wait(), 0) << full.process().err();
        }
        Serving serving(folder_.at("root"), listening(address, key));
        const Outcome again = run({"save", "--json", "--key-file", key, file, serving.uri()});
        EXPECT_EQ(again.exit, 0) << again.err;
        EXPECT_NE(again.out.find("\"had_bytes\": "), std::string::npos) << again.out;
        EXPECT_EQ(again.out.find("\"had_bytes\": 0"), std::string::npos) << again.out;
        EXPECT_TRUE(folder_.get("root/file") == content);
    }
    void expect_copies_from_server_to_server(const std::string& address) {
        const std::string key = new_key("key");
        std::filesystem::create_directory(folder_.at("other"));
        Serving from(folder_.at("root"), listening(address, key));
        Serving to(folder_.at("other"), listening(address, key));
        ASSERT_FALSE(from.uri().empty() || to.uri().empty()) << from.process().err() << to.process().err();
        put_tree();
        std::filesystem::copy(folder_.at("tree"), folder_.at("root/tree"),
                              std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
        const Outcome copied = run({"copy", "--key-file", key, from.uri() + "/tree", to.uri()});
        EXPECT_EQ(copied.exit, 0) << copied.err;
        expect_tree("other/tree");
    }

    Folder folder_;
};

TEST_F(TcpsProcess, AKeyIsForItsOwnerAlone) {
    const std::string path = new_key("fleet.key");
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, mode_t{0600});
    const std::string line = folder_.get("fleet.key");
    EXPECT_EQ(line.size(), std::string("fleet:").size() + 64 + 1) << "32 bytes";
    EXPECT_NE(line, (new_key("other.key"), folder_.get("other.key")));
    EXPECT_EQ(run({"key", "new", path}).exit, exit_exists);
    EXPECT_EQ(folder_.get("fleet.key"), line) << "nothing is lost";
    EXPECT_NE(run({"key", "new", folder_.at("x"), "--name", "a:b"}).exit, 0);
}

TEST_F(TcpsProcess, FilesGoByASharedKey) {
    const std::string key = new_key("key");
    Serving serving(folder_.at("root"), {"--listen", "tcps://127.0.0.1:0", "--key-file", key});
    ASSERT_TRUE(serving.uri().starts_with("tcps://")) << serving.process().err();
    EXPECT_EQ(moved(serving.uri(), {"--key-file", key}), 0);
    EXPECT_EQ(run({"ping", "-c", "1", serving.uri(), "--key-file", key}).exit, 0);
    const std::string wrong = new_key("wrong");
    EXPECT_EQ(moved(serving.uri(), {"--key-file", wrong}), exit_permission);
    const Outcome without = run({"save", folder_.at("a"), serving.uri()});
    EXPECT_NE(without.exit, 0);
    EXPECT_NE(without.err.find("cinnabar key new"), std::string::npos) << without.err;
    const std::string secret = folder_.get("key").substr(6, 64);
    EXPECT_EQ(serving.process().err().find(secret), std::string::npos);
}

TEST_F(TcpsProcess, TreesGoThereAndBack) { expect_trees_go_there_and_back("tcps://127.0.0.1:0"); }

TEST_F(TcpsProcess, SavesResume) { expect_saves_to_resume("tcps://127.0.0.1:0"); }

TEST_F(TcpsProcess, CopiesGoFromServerToServer) { expect_copies_from_server_to_server("tcps://127.0.0.1:0"); }

#ifdef CINNABAR_TEST_OFIS
TEST_F(TcpsProcess, FilesGoOverAFabricByASharedKey) {
    {
        // Where the plain scheme opens, the protected one has to.
        Serving plain(folder_.at("root"), {"--listen", "ofi+tcp://127.0.0.1:0", "--insecure"});
        const std::string said = plain.process().err();
        if (plain.uri().empty() && said.find("libfabric has no provider") != std::string::npos) GTEST_SKIP() << said;
    }
    const std::string key = new_key("key");
    Serving serving(folder_.at("root"), {"--listen", "ofis+tcp://127.0.0.1:0", "--key-file", key});
    ASSERT_TRUE(serving.uri().starts_with("ofis+tcp")) << serving.process().err();
    EXPECT_EQ(moved(serving.uri(), {"--key-file", key}), 0);
    EXPECT_EQ(moved(serving.uri(), {"--key-file", new_key("wrong")}), exit_permission);
    EXPECT_NE(run({"save", folder_.at("a"), serving.uri()}).exit, 0) << "without a key";
}

TEST_F(TcpsProcess, TreesGoThereAndBackOverAFabric) { expect_trees_go_there_and_back("ofis+tcp://127.0.0.1:0"); }

TEST_F(TcpsProcess, SavesResumeOverAFabric) { expect_saves_to_resume("ofis+tcp://127.0.0.1:0"); }

TEST_F(TcpsProcess, CopiesGoFromServerToServerOverAFabric) {
    expect_copies_from_server_to_server("ofis+tcp://127.0.0.1:0");
}
#endif

TEST_F(TcpsProcess, FilesGoByCertificates) {
    ASSERT_EQ(run({"cert", "ca", folder_.at("ca")}).exit, 0);
    ASSERT_EQ(run({"cert", "server", folder_.at("ca"), "storage", "--host", "127.0.0.1"}).exit, 0);
    ASSERT_EQ(run({"cert", "client", folder_.at("ca"), "ann"}).exit, 0);
    EXPECT_EQ(run({"cert", "client", folder_.at("ca"), "ann"}).exit, exit_exists);
    Serving serving(folder_.at("root"), joined({"--listen", "tcps://127.0.0.1:0"}, certified("storage")));
    ASSERT_FALSE(serving.uri().empty()) << serving.process().err();
    EXPECT_EQ(moved(serving.uri(), certified("ann")), 0);
    EXPECT_EQ(moved(serving.uri(), {"--key-file", new_key("key")}), exit_permission);
}

TEST_F(TcpsProcess, APolicySaysWhoMayDoWhat) {
    for (const char* name : {"ann", "bob"}) (void)new_key(std::string(name) + ".key", name);
    const std::string all = support::put_key(folder_, "all.key", folder_.get("ann.key") + folder_.get("bob.key"));
    const std::string policy = folder_.put("policy",
                                           "ann allow key:ann read,write,replace /ann\n"
                                           "no deny key:bob read /ann/secret\n"
                                           "bob allow key:bob read /ann\n"
                                           "small quota key:ann 150k 5\n");
    std::filesystem::create_directories(folder_.at("root/ann"));
    Serving serving(folder_.at("root"), {"--listen", "tcps://127.0.0.1:0", "--key-file", all, "--policy", policy});
    ASSERT_FALSE(serving.uri().empty()) << serving.process().err();
    const Words ann = {"--key-file", folder_.at("ann.key")};
    const Words bob = {"--key-file", folder_.at("bob.key")};
    const std::string file = folder_.put("secret", std::string(100'000, 's'));
    EXPECT_EQ(run(joined({"save", file, serving.uri() + "/ann"}, ann)).exit, 0);
    const Outcome elsewhere = run(joined({"save", file, serving.uri()}, ann));
    EXPECT_EQ(elsewhere.exit, exit_permission);
    EXPECT_NE(elsewhere.err.find("no rule of the server's policy allows it"), std::string::npos) << elsewhere.err;
    const Outcome refused = run(joined({"fetch", serving.uri() + "/ann/secret", "-o", folder_.at("back")}, bob));
    EXPECT_EQ(refused.exit, exit_permission);
    EXPECT_NE(refused.err.find("by the rule no"), std::string::npos) << refused.err;
    EXPECT_EQ(run(joined({"list", serving.uri() + "/ann"}, bob)).exit, 0);
    EXPECT_EQ(run(joined({"save", file, serving.uri() + "/ann"}, bob)).exit, exit_permission);
    EXPECT_EQ(run(joined({"remove", serving.uri() + "/ann/secret"}, ann)).exit, exit_permission);
    const Outcome full = run(joined({"save", "--replace", file, serving.uri() + "/ann"}, ann));
    EXPECT_NE(full.err.find("quota of bytes"), std::string::npos) << full.err;
    EXPECT_EQ(folder_.get("root/ann/secret"), folder_.get("secret"));
}

TEST_F(TcpsProcess, APolicyIsReadAgainWhileTheServerRuns) {
    const std::string key = new_key("ann.key", "ann");
    const std::string policy = folder_.put("policy", "ann allow key:ann read /\n");
    Serving serving(folder_.at("root"), {"--listen", "tcps://127.0.0.1:0", "--key-file", key, "--policy", policy});
    ASSERT_FALSE(serving.uri().empty()) << serving.process().err();
    const Words ann = {"--key-file", key};
    EXPECT_EQ(moved(serving.uri(), ann), exit_permission);
    (void)folder_.put("policy", "ann allow ann all /\n");
    EXPECT_TRUE(eventually([&] {
        return serving.process().err().find("the new policy cannot be used, the old rules stay") != std::string::npos;
    }));
    EXPECT_EQ(moved(serving.uri(), ann), exit_permission);
    (void)folder_.put("policy", "ann allow key:ann all /\n");
    EXPECT_TRUE(eventually([&] { return moved(serving.uri(), ann) == 0; }));
}

// On a server at which other clients prove a key to the service itself.
TEST_F(TcpsProcess, AClientOverTcpsProvesItsKeyOnce) {
    const std::string ann = new_key("ann.key", "ann");
    (void)new_key("bob.key", "bob");
    const std::string all = support::put_key(folder_, "all.key", folder_.get("ann.key") + folder_.get("bob.key"));
    Serving serving(folder_.at("root"),
                    {"--listen", "tcps://127.0.0.1:0", "--listen", "tcp://127.0.0.1:0", "--key-file", all});
    ASSERT_FALSE(serving.uri().empty()) << serving.process().err();
    EXPECT_EQ(moved(serving.uri(), {"--key-file", ann, "--transport", "tcps"}), 0);
    EXPECT_EQ(moved(serving.uri(), {"--key-file", ann, "--transport", "tcp"}), exit_permission);
    EXPECT_EQ(moved(serving.uri(), {"--key-file", all, "--transport", "tcp"}), 0);
}

TEST_F(TcpsProcess, OnlySomeMayBeMembersOfAGroupOfServers) {
    const std::string ann = new_key("ann.key", "ann");
    (void)new_key("storage.key", "storage");
    const std::string all = support::put_key(folder_, "all.key", folder_.get("storage.key") + folder_.get("ann.key"));
    const Words member{"--listen", "tcps://127.0.0.1:0", "--key-file", all, "--group", "--members", "key:storage"};
    Serving first(folder_.at("root"), member);
    ASSERT_FALSE(first.uri().empty()) << first.process().err();
    std::filesystem::create_directory(folder_.at("second"));
    Serving second(folder_.at("second"), joined(member, {"--join", first.uri()}));
    ASSERT_FALSE(second.uri().empty()) << second.process().err();

    Process other({"member", "--listen", "tcps://127.0.0.1:0", "--join", first.uri(), "--key-file", ann});
    EXPECT_TRUE(eventually([&] {
        return first.process().err().find("may not call cinnabar.group.join (rule others)") != std::string::npos;
    })) << first.process().err();
    const Outcome shown = run({"group", first.uri(), "--key-file", ann});
    EXPECT_TRUE(shown.out.starts_with("group: 2 present of 2")) << shown.out << shown.err;
    const std::string file = folder_.put("a", std::string(100'000, 'a'));
    const Outcome saved = run({"save", "--group", first.uri(), "--replicas", "2", "--key-file", ann, file});
    EXPECT_EQ(saved.exit, 0) << saved.err;
    EXPECT_EQ(folder_.get("root/a"), folder_.get("second/a"));
    EXPECT_EQ(first.process().err().find("cinnabar.group.swim"), std::string::npos) << first.process().err();
}

// A member may be proven and still name an address at which anybody may listen.
TEST_F(TcpsProcess, NoMemberSendsClientsToAServerThatIsNotProven) {
    ASSERT_EQ(run({"cert", "ca", folder_.at("ca")}).exit, 0);
    ASSERT_EQ(run({"cert", "server", folder_.at("ca"), "storage", "--host", "127.0.0.1"}).exit, 0);
    ASSERT_EQ(run({"cert", "client", folder_.at("ca"), "ann"}).exit, 0);
    const Words member = joined({"--listen", "tcps://127.0.0.1:0", "--group"}, certified("storage"));
    Serving first(folder_.at("root"), member);
    ASSERT_FALSE(first.uri().empty()) << first.process().err();
    std::filesystem::create_directory(folder_.at("open"));
    const Words open{"--listen", "tcp://127.0.0.1:0", "--insecure", "--join", first.uri()};
    Serving second(folder_.at("open"), joined(open, member));
    ASSERT_TRUE(second.uri().starts_with("tcp://")) << second.uri() << second.process().err();

    const std::string file = folder_.put("a", std::string(100'000, 'a'));
    const Words both =
        joined({"save", file, "--replicas", "2", "--insecure", "--group", first.uri()}, certified("ann"));
    const Outcome refused = run(both);
    EXPECT_EQ(refused.exit, exit_permission) << refused.err;
    EXPECT_NE(refused.err.find("no transport to it proves its identity"), std::string::npos) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(folder_.at("open/a")));
    const Words list = joined({"list", "--insecure", "--group", first.uri()}, certified("ann"));
    EXPECT_EQ(run(list).exit, exit_permission);
    const Outcome proven = run(joined(both, {"--transport", "tcps"}));
    EXPECT_EQ(proven.exit, 0) << "where it is reached by tcps: " << proven.err;
    EXPECT_EQ(folder_.get("open/a"), folder_.get("root/a"));
}

TEST_F(TcpsProcess, RevokedCertificatesAreRefused) {
    ASSERT_EQ(run({"cert", "ca", folder_.at("ca")}).exit, 0);
    ASSERT_EQ(run({"cert", "server", folder_.at("ca"), "storage", "--host", "127.0.0.1"}).exit, 0);
    for (const char* name : {"ann", "bob"}) ASSERT_EQ(run({"cert", "client", folder_.at("ca"), name}).exit, 0);
    const Words list = {"--crl", folder_.at("ca/ca.crl")};
    Serving serving(folder_.at("root"), joined(joined({"--listen", "tcps://127.0.0.1:0"}, certified("storage")), list));
    ASSERT_FALSE(serving.uri().empty()) << serving.process().err();
    EXPECT_EQ(moved(serving.uri(), joined(certified("ann"), list)), 0);
    const Outcome revoked = run({"cert", "revoke", folder_.at("ca"), "ann"});
    ASSERT_EQ(revoked.exit, 0) << revoked.err;
    EXPECT_NE(revoked.out.find("--crl"), std::string::npos) << revoked.out;
    EXPECT_TRUE(eventually([&] { return moved(serving.uri(), certified("ann")) == exit_permission; }));
    EXPECT_TRUE(eventually([&] {
        return serving.process().err().find("has a certificate that was revoked") != std::string::npos;
    })) << serving.process().err();
    EXPECT_EQ(moved(serving.uri(), joined(certified("bob"), list)), 0);
    EXPECT_NE(run({"cert", "revoke", folder_.at("ca"), "nobody"}).exit, 0);
    EXPECT_EQ(run({"cert", "revoke", folder_.at("ca")}).exit, 0) << "signs the list anew";
}

TEST_F(TcpsProcess, WhoProvesAnotherKeyIsToldWhatToDo) {
    const std::string key = new_key("key");
    const std::string file = folder_.put("a", "text");
    Serving serving(folder_.at("root"), {"--listen", "tcps://127.0.0.1:0", "--key-file", key});
    ASSERT_FALSE(serving.uri().empty()) << serving.process().err();
    const Outcome other = run({"save", file, serving.uri(), "--key-file", new_key("other")});
    EXPECT_EQ(other.exit, exit_permission);
    EXPECT_NE(other.err.find("it has another one by that name, compare the key files"), std::string::npos) << other.err;
    const Outcome unknown = run({"save", file, serving.uri(), "--key-file", new_key("bob", "bob")});
    EXPECT_EQ(unknown.exit, exit_permission);
    EXPECT_NE(unknown.err.find("compare the key files, or give a certificate"), std::string::npos) << unknown.err;
}

// Expired certificates, which the command does not make, are in TlsProof.CertificatesHaveTheirTimeAndTheirUse.
TEST_F(TcpsProcess, WhoseCertificateIsRefusedIsToldWhatToDo) {
    ASSERT_EQ(run({"cert", "ca", folder_.at("ca")}).exit, 0);
    ASSERT_EQ(run({"cert", "ca", folder_.at("other")}).exit, 0);
    ASSERT_EQ(run({"cert", "server", folder_.at("ca"), "storage", "--host", "127.0.0.1"}).exit, 0);
    ASSERT_EQ(run({"cert", "client", folder_.at("ca"), "ann"}).exit, 0);
    ASSERT_EQ(run({"cert", "revoke", folder_.at("ca"), "ann"}).exit, 0);
    const std::string file = folder_.put("a", "text");
    const Words list = {"--crl", folder_.at("ca/ca.crl")};
    Serving serving(folder_.at("root"), joined(joined({"--listen", "tcps://127.0.0.1:0"}, certified("storage")), list));
    ASSERT_FALSE(serving.uri().empty()) << serving.process().err();
    const auto told = [&](const Words& secrets) {
        const Outcome refused = run(joined({"save", file, serving.uri()}, secrets));
        EXPECT_EQ(refused.exit, exit_permission) << refused.err;
        return refused.err;
    };
    const Words ann = certified("ann");
    EXPECT_NE(told(ann).find("was revoked: get another one from the CA"), std::string::npos);
    Words other = ann;
    other.back() = folder_.at("other/ca.pem");
    const std::string of_other = told(other);
    EXPECT_NE(of_other.find("compare the files of ca"), std::string::npos) << of_other;
    const std::string elsewhere = told(joined(ann, {"--peer-name", "other.example"}));
    EXPECT_NE(elsewhere.find("it is for other hosts, so dial one of these"), std::string::npos) << elsewhere;
}

TEST_F(TcpsProcess, CommandsThatAskAServerProveAKeyAsWell) {
    const std::string key = new_key("key");
    Serving serving(folder_.at("root"),
                    {"--listen", "tcps://127.0.0.1:0", "--key-file", key, "--introspection", "anyone"});
    ASSERT_FALSE(serving.uri().empty()) << serving.process().err();
    const Words looks[] = {{"info", serving.uri()}, {"top", serving.uri(), "--prometheus"}, {"calls", serving.uri()}};
    const std::string wrong = new_key("wrong");
    for (const Words& look : looks) {
        const Outcome looked = run(joined(look, {"--key-file", key}));
        EXPECT_EQ(looked.exit, 0) << look[0] << ": " << looked.out << looked.err;
        EXPECT_NE(run(joined(look, {"--key-file", wrong})).exit, 0) << look[0];
    }
    // Other findings of the doctor about this host are ignored.
    const auto found_by_doctor = [&](const std::string& with) {
        return run({"doctor", serving.uri(), "--key-file", with}).out;
    };
    EXPECT_NE(found_by_doctor(key).find("server-perf"), std::string::npos) << "it was reached";
    EXPECT_EQ(found_by_doctor(wrong).find("server-perf"), std::string::npos);
}

TEST_F(TcpsProcess, NoServerStartsWithAWrongPolicy) {
    const auto told = [&](const std::string& policy) {
        const Outcome served = run({"serve", "--root", folder_.at("root"), "--policy", policy});
        EXPECT_NE(served.exit, 0);
        return served.err;
    };
    const std::string wrong = told(folder_.put("policy", "# one\nann allow ann read /\n"));
    EXPECT_NE(wrong.find("policy line 2: ann"), std::string::npos) << wrong;
    EXPECT_NE(told(folder_.at("none")).find("cannot open the policy"), std::string::npos);
    ASSERT_EQ(::chmod(folder_.put("open", "").c_str(), 0666), 0);
    EXPECT_NE(told(folder_.at("open")).find("chmod go-w"), std::string::npos);
}

}  // namespace
}  // namespace cinnabar::tools
