// SPDX-License-Identifier: BSD-3-Clause
// Rules about what clients may do below a server's root: their text, and their effect on clients that prove keys.
#include "session/client_quota.hpp"
#include "support/content.hpp"
#include "support/test_key.hpp"

#include <cinnabar/files/access_policy.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::files {
namespace {

using support::Folder;
using Kind = AccessRequest::Kind;

na::Addr by_key(const std::string& name) {
    return na::Addr::of_connection("tcps", 0, 0, 7, false, "tcps://10.0.0.5:1", {},
                                   na::ProvenIdentity{na::ProvenIdentity::By::key, name});
}
na::Addr by_user(std::uint32_t uid) {
    return na::Addr::of_connection("shm", 0, 0, 7, false, {}, na::HostProcess{1, uid, 1});
}

constexpr std::string_view some_rules =
    "closed   deny   key:ann    all                 /ann/closed\n"
    "own      allow  key:ann    read,write          /ann,/both/\n"
    "over     allow  key:ann    replace             /both\n"
    "readers  allow  proven     read                /pub\n"
    "# nobody else but root\n"
    "root     allow  uid:0      all                 /\n"
    "less     quota  key:ann    10k  -   300k\n"
    "rest     quota  proven     1M   5\n";

bool may(const na::Addr& client, Kind kind, std::string_view name, bool replace = false) {
    const auto policy = AccessPolicy::parse(some_rules).value();
    return policy->may({kind, name, 0, replace, {}, client}).ok();
}

TEST(AccessRules, AreAboutClientsRightsAndFolders) {
    const na::Addr ann = by_key("ann");
    EXPECT_TRUE(may(ann, Kind::save, "ann/a"));
    EXPECT_TRUE(may(ann, Kind::make, "ann"));
    EXPECT_TRUE(may(ann, Kind::save, "both/a/b"));
    EXPECT_FALSE(may(ann, Kind::save, "annex/a")) << "another folder";
    EXPECT_FALSE(may(ann, Kind::save, "a"));
    EXPECT_FALSE(may(ann, Kind::list, "")) << "the root";
    EXPECT_TRUE(may(ann, Kind::list, "ann"));
    EXPECT_TRUE(may(ann, Kind::fetch, "pub/x"));
    EXPECT_FALSE(may(ann, Kind::save, "pub/x"));
    EXPECT_FALSE(may(ann, Kind::fetch, "ann/closed/x")) << "the first rule decides";
    EXPECT_TRUE(may(ann, Kind::fetch, "ann/closedness"));
    EXPECT_FALSE(may(ann, Kind::save, "ann/a", true)) << "write is for names that are free";
    EXPECT_TRUE(may(ann, Kind::save, "both/a", true));
    EXPECT_FALSE(may(ann, Kind::remove, "ann/a"));
    EXPECT_FALSE(may(ann, Kind::link, "ann/a"));
    EXPECT_TRUE(may(ann, Kind::hard_link, "ann/a"));
    EXPECT_FALSE(may(ann, Kind::list_remains, ""));
    EXPECT_FALSE(may(ann, Kind::remove_remains, ""));
    EXPECT_TRUE(may(ann, Kind::look, "pub"));
    const na::Addr bob = by_key("bob");
    EXPECT_TRUE(may(bob, Kind::fetch, "pub/x"));
    EXPECT_FALSE(may(bob, Kind::fetch, "ann/x"));
    for (const Kind kind : {Kind::save, Kind::fetch, Kind::make, Kind::link, Kind::hard_link, Kind::list, Kind::look,
                            Kind::remove, Kind::list_remains, Kind::remove_remains, Kind::follow}) {
        EXPECT_TRUE(may(by_user(0), kind, "")) << static_cast<int>(kind);
        EXPECT_TRUE(may(by_user(0), kind, "ann/closed/x", true)) << static_cast<int>(kind);
        EXPECT_FALSE(may(by_user(1), kind, "pub/x")) << static_cast<int>(kind);
    }
}

TEST(AccessRules, ARefusalNamesTheRule) {
    const auto policy = AccessPolicy::parse(some_rules).value();
    const na::Addr ann = by_key("ann");
    const auto closed = policy->may({Kind::fetch, "ann/closed/x", 0, false, {}, ann});
    EXPECT_EQ(closed.code(), Errc::permission);
    EXPECT_NE(closed.error().message().find("by the rule closed"), std::string::npos) << closed.error().message();
    const auto none = policy->may({Kind::remove, "ann/x", 0, false, {}, ann});
    EXPECT_NE(none.error().message().find("no rule of the server's policy"), std::string::npos);
    EXPECT_TRUE(policy->may_log_in(ann).ok());
    EXPECT_EQ(policy->may_log_in(by_user(5)).code(), Errc::permission);
}

TEST(AccessRules, GiveQuotas) {
    const auto policy = AccessPolicy::parse(some_rules).value();
    const Quota* const ann = policy->quota_of(by_key("ann"));
    ASSERT_TRUE(ann);
    EXPECT_EQ(*ann, (Quota{10u << 10, Quota().files, 300u << 10}));
    const Quota* const bob = policy->quota_of(by_key("bob"));
    ASSERT_TRUE(bob);
    EXPECT_EQ(*bob, (Quota{1u << 20, 5, 0}));
    EXPECT_EQ(policy->quota_of(by_user(0)), nullptr);
}

TEST(AccessRules, AnErrorNamesTheLineThatIsNotARule) {
    const auto told = [](const std::string& line) {
        auto policy = AccessPolicy::parse("# one\n" + line + "\n");
        EXPECT_EQ(policy.code(), Errc::invalid_argument) << line;
        return policy ? std::string() : policy.error().message();
    };
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"a permit anyone read /", "line 2: permit"},
        {"a allow ann read /", "line 2: ann"},
        {"a allow anyone eat /", "line 2: eat"},
        {"a allow anyone , /", "line 2"},
        {"a allow anyone read", "names folders"},
        {"a allow anyone read pub", "line 2: pub"},
        {"a allow anyone read /../x", "line 2: /../x"},
        {"a allow anyone read / more", "line 2: more"},
        {"a quota anyone", "line 2"},
        {"a quota anyone 1 x", "line 2: x"},
        {"a quota anyone 1Q 1", "line 2: 1Q"},
        {"a quota anyone 99999999999T 1", "line 2: 99999999999T"},
        {"a quota anyone 1 1 1 more", "line 2: more"},
        {"a! allow anyone read /", "line 2: a!"},
    };
    for (const auto& [line, part] : wrong) {
        const std::string text = told(line);
        EXPECT_NE(text.find(part), std::string::npos) << text;
    }
}

TEST(AccessRules, AreBoundedInNumber) {
    std::string lines;
    for (std::size_t i = 0; i < AccessPolicy::rules_max; ++i) lines += "a allow anyone read /\n";
    EXPECT_TRUE(AccessPolicy::parse(lines).ok());
    EXPECT_EQ(AccessPolicy::parse(lines + "a quota anyone 1 1\n").code(), Errc::too_large);
    std::string folders = "/x";
    while (std::count(folders.begin(), folders.end(), ',') < static_cast<long>(AccessPolicy::items_max))
        folders += ",/x";
    EXPECT_EQ(AccessPolicy::parse("a allow anyone read " + folders + "\n").code(), Errc::too_large);
    std::string half = "uid:1";
    for (std::size_t i = 1; i < AccessPolicy::items_max / 2; ++i) half += ",uid:1";
    const std::string quotas = "a quota " + half + " 1 1\nb quota " + half + " 1 1\n";
    EXPECT_TRUE(AccessPolicy::parse(quotas).ok());
    EXPECT_EQ(AccessPolicy::parse(quotas + "c quota uid:1 1 1\n").code(), Errc::too_large) << "those of quotas count";
}

TEST(AccessRules, AFileThatOthersCanWriteIsRefused) {
    const Folder folder;
    const std::string path = folder.put("policy", "a allow anyone read /\n");
    ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
    EXPECT_EQ(AccessPolicy::load(path).code(), Errc::permission);
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    EXPECT_TRUE(AccessPolicy::load(path).ok());
    EXPECT_EQ(AccessPolicy::load(folder.at("none")).code(), Errc::not_found);
}

TEST(Accounts, AClientIsItsProvenIdentity) {
    EXPECT_EQ(client_name(by_key("ann")), "key:ann");
    EXPECT_EQ(client_name(by_user(1000)), "uid:1000");
    EXPECT_EQ(client_name(na::Addr::of_connection("tcp", 0, 0, 7, false, "tcp://10.0.0.5:41234")), "10.0.0.5");
}

// Two clients on one host, each with a key of its own.
#ifdef CINNABAR_PLUGIN_tcps
struct PolicyServerTest : testing::Test {
    Folder folder;
    ServerOptions options;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;

    struct Guest {
        hl::Node node;
        Client client;
        Result<void> opened;
        Guest(hl::Node from, const std::string& to)
            : node(std::move(from)),
              client(node, node.lookup(to).value(), nullptr, Keyless::proven),
              opened(hl::sync_wait(client.open())) {}
        ~Guest() {
            if (opened) (void)hl::sync_wait(client.close());
        }
    };

    void begin(std::string_view rules) {
        for (const char* name : {"root/ann", "root/pub"}) std::filesystem::create_directories(folder.at(name));
        options.policy = AccessPolicy::parse(rules).value();
        server = Server::make(Root::serve(folder.at("root")).value(), std::nullopt, options).value();
        hl::NodeOptions node;
        node.transport.tls.key_file = support::put_key(folder, "all", line_of("ann") + "\n" + line_of("bob"));
        there = hl::Node::listen("tcps://127.0.0.1:0", node).value();
        ASSERT_TRUE(server->serve_on(*there).ok());
    }
    static std::string line_of(const std::string& name) { return name + ":" + std::string(64, name.front()); }
    std::unique_ptr<Guest> guest(const std::string& name) {
        hl::NodeOptions node;
        node.progress_thread = false;
        node.transport.tls.key_file = support::put_key(folder, "key-" + name, line_of(name));
        return std::make_unique<Guest>(hl::Node::open("tcps://", node).value(), there->endpoints().front());
    }
    Result<Moved> save(Guest& by, const std::string& name, std::size_t bytes = 10, SaveMode mode = {}) {
        return hl::sync_wait(by.client.save(folder.put("source", support::pattern(bytes)), name, mode));
    }
    void TearDown() override {
        there.reset();
        server.reset();
    }
};

TEST_F(PolicyServerTest, EachClientHasItsRightsAndIsToldTheRule) {
    begin("own allow key:ann read,write /ann\nnobody deny key:bob write /ann\nall allow proven read /\n");
    const auto ann = guest("ann");
    const auto bob = guest("bob");
    ASSERT_TRUE(ann->opened.ok() && bob->opened.ok());
    EXPECT_TRUE(save(*ann, "ann/a").ok());
    const auto replaced = save(*ann, "ann/a", 20, {.existing = Existing::replace});
    EXPECT_EQ(replaced.code(), Errc::permission);
    EXPECT_EQ(save(*ann, "pub/a").code(), Errc::permission);
    const auto refused = save(*bob, "ann/b");
    EXPECT_EQ(refused.code(), Errc::permission);
    EXPECT_NE(refused.error().message().find("by the rule nobody"), std::string::npos) << refused.error().message();
    EXPECT_FALSE(std::filesystem::exists(folder.at("root/ann/b")));
    const auto into = Root::open(folder.at("")).value();
    EXPECT_TRUE(hl::sync_wait(bob->client.fetch("ann/a", into)).ok());
    EXPECT_EQ(hl::sync_wait(bob->client.remove("ann/a")).code(), Errc::permission);
    EXPECT_EQ(hl::sync_wait(ann->client.make_link("ann/l", "../pub", {})).code(), Errc::permission);
}

TEST_F(PolicyServerTest, AClientThatNoRuleAllowsCannotLogIn) {
    begin("own allow key:ann all /\nnot deny key:bob all /\n");
    const auto bob = guest("bob");
    EXPECT_EQ(bob->opened.code(), Errc::permission);
    EXPECT_NE(bob->opened.error().message().find("no rule"), std::string::npos) << bob->opened.error().message();
    EXPECT_TRUE(guest("ann")->opened.ok());
}

TEST_F(PolicyServerTest, OtherRulesHoldAtOnce) {
    begin("all allow proven all /\nlots quota key:ann 1M -\n");
    const auto ann = guest("ann");
    const auto bob = guest("bob");
    ASSERT_TRUE(save(*ann, "a", 60).ok());
    server->replace_policy(AccessPolicy::parse("own allow key:ann read /\n").value());
    EXPECT_EQ(save(*ann, "b").code(), Errc::permission) << "in a session that was there";
    const auto into = Root::open(folder.at("")).value();
    EXPECT_TRUE(hl::sync_wait(ann->client.fetch("a", into)).ok());
    EXPECT_EQ(save(*bob, "b").code(), Errc::permission);
    EXPECT_EQ(guest("bob")->opened.code(), Errc::permission);
    server->replace_policy(AccessPolicy::parse("all allow proven all /\nless quota key:ann 100 -\n").value());
    EXPECT_TRUE(save(*bob, "b").ok());
    EXPECT_EQ(save(*guest("ann"), "c", 60).code(), Errc::no_space) << "with what it saved before";
    EXPECT_TRUE(save(*guest("ann"), "c", 40).ok());
    server->replace_policy(nullptr);
    EXPECT_TRUE(save(*guest("ann"), "d", 200).ok());
}

TEST_F(PolicyServerTest, QuotasAreOfWhoeverProvesTheKeyNotOfTheHost) {
    options.client_bytes_max = 1000;
    begin("all allow proven all /\nless quota key:ann 100 -\n");
    auto ann = guest("ann");
    auto bob = guest("bob");
    EXPECT_TRUE(save(*ann, "a", 60).ok());
    EXPECT_TRUE(save(*bob, "b", 900).ok()) << "another one, of the same host, by the quota of all";
    ann.reset();
    ann = guest("ann");
    const auto refused = save(*ann, "c", 60);
    EXPECT_EQ(refused.code(), Errc::no_space) << "another connection of the same one";
    EXPECT_NE(refused.error().message().find("--policy"), std::string::npos) << refused.error().message();
    EXPECT_TRUE(save(*ann, "c", 40).ok());
    EXPECT_EQ(save(*bob, "d", 101).code(), Errc::no_space);
}
#endif

}  // namespace
}  // namespace cinnabar::files
