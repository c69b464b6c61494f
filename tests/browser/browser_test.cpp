// SPDX-License-Identifier: BSD-3-Clause
// The reports of `cinnabar perf` and of `./dev compare`, and the page of a node, in a real browser: in light and dark
// mode, and on a phone. Checks that there is no error, nothing beyond the edge of the screen, each point of the data in
// its place, and all text readable. Leaves screenshots in build/dev/browser.
#include "browser/checks.hpp"
#include "browser/web_driver.hpp"
#include "compare/made_up_report.hpp"
#include "compare/output.hpp"
#include "integration/gate.hpp"
#include "perf/html_report.hpp"
#include "perf/made_up_results.hpp"
#include "support/folder.hpp"
#include "tools/process.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools {
namespace {

using test::WebDriver;
using Json = nlohmann::json;

struct Shown {
    const char* name;
    WebDriver::Look look;
};
constexpr std::array shown{Shown{"light", {1280, false}}, Shown{"dark", {1280, true}}, Shown{"narrow", {360, false}},
                           Shown{"narrow-dark", {360, true}}};

class Browser : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(WebDriver::is_here()) << "there is no Chromium here: apt-get install chromium chromium-driver";
        std::filesystem::create_directories(CINNABAR_PICTURES);
        driver_.emplace();
    }
    // Opens the page in each look, takes a screenshot, and checks what must hold for every page.
    void look_at(const std::string& name, const std::string& url) {
        for (const auto& [kind, look] : shown) {
            SCOPED_TRACE(name + " " + kind);
            driver_->look(look);
            driver_->open(url);
            (void)driver_->run("window.stop()");  // so that the page does not reload meanwhile
            driver_->picture(std::string(CINNABAR_PICTURES) + "/" + name + "-" + kind + ".png");
            EXPECT_EQ(driver_->errors(), Json::array());
            EXPECT_EQ(driver_->run(test::is_dark), look.dark);
            EXPECT_EQ(driver_->run(test::beyond_the_screen), Json::array());
            EXPECT_EQ(driver_->run(test::hard_to_read), Json::array());
            EXPECT_EQ(driver_->run(test::texts_that_meet), Json::array());
            EXPECT_EQ(driver_->run(test::comes_from_elsewhere), Json::array());
        }
    }
    std::optional<WebDriver> driver_;
};

// The checks find the faults for which they look; otherwise the tests below would prove nothing.
TEST_F(Browser, TheChecksFindFaultsOfAPage) {
    const support::Folder folder;
    const auto file =
        folder.put("wrong.html",
                   "<!doctype html><title>x</title><link rel=icon href=data:,><body style='background:#fff'>"
                   "<p style='color:#bbb'>pale</p><p style='font-size:6px'>small</p>"
                   "<div style='width:3000px'>wide</div><img src='http://127.0.0.1:1/x'>"
                   "<svg width=200 height=50><text x=0 y=20>one</text><text x=5 y=22>other</text>"
                   "<text x=180 y=20>cut off</text><circle class=point cx=500 cy=5 r=2 /></svg>"
                   "<script>undefinedFunction()</script>");
    driver_->look({360, false});
    driver_->open("file://" + file);
    EXPECT_EQ(driver_->errors().size(), 2u) << "the script, and the picture";
    EXPECT_FALSE(driver_->run(test::beyond_the_screen).empty());
    EXPECT_EQ(driver_->run(test::hard_to_read).size(), 2u) << driver_->run(test::hard_to_read);
    EXPECT_EQ(driver_->run(test::texts_that_meet).size(), 2u) << driver_->run(test::texts_that_meet);
    EXPECT_EQ(driver_->run(test::comes_from_elsewhere).size(), 1u);
    EXPECT_EQ(driver_->run(test::points_shown), 0) << "it lies beside its plot";
}

TEST_F(Browser, ShowsTheReport) {
    const support::Folder folder;
    auto results = perf::some_results();
    results.calls[1].outcomes.fail(Errc::timed_out);
    results.target.about.host = "a-host-with-a-long-name.of.a.cluster.example.org";
    results.command = "cinnabar perf all " + results.target.uri + " --seconds 1 --html report.html";
    const auto file = folder.put("report.html", perf::html_report(results));
    look_at("report", "file://" + file);
    EXPECT_EQ(driver_->run(test::points_shown), 3 + 6 + 6) << "by depth, by load, by size with the machine's limit";
    EXPECT_EQ(driver_->run("return document.querySelectorAll('figure').length"), 4 + 5 + 1);
    EXPECT_EQ(driver_->run("return [...document.querySelectorAll('.bars > svg .bar')].filter(bar => "
                           "bar.getBoundingClientRect().width > 1).length"),
              5 * 4)
        << "where the time went, of each row";
    const auto lines = driver_->run(test::points_of_lines);
    std::size_t slices = 0;
    for (const auto& line : lines) slices += line == perf::Timeline::slices ? 1 : 0;
    EXPECT_EQ(slices, 5u * 3) << "p50, p99 and the maximum over time, of each row: " << lines;
}

TEST_F(Browser, ShowsTheComparison) {
    const support::Folder folder;
    auto report = compare::some_report();
    report.machine = "A processor with a long name, 2 cores, Linux 6.1.0-a-version-of-a-distribution";
    compare::Compared& work = report.works[0];
    work.work.title = "A call of 64 bytes and its reply within a host, 64 of them in flight";
    work.measured.push_back(compare::measured("a peer with a name that is long, in shared memory", false, {0, 0, 0}));
    work.measured.back().contender.client = "exec a-program --with-an-argument=" + std::string(200, 'x');
    work.measured.back().failure = "it fails: " + std::string(200, 'y');
    report.works.push_back(work);
    const auto file = folder.put("compare.html", compare::to_html(report));
    look_at("compare", "file://" + file);
    EXPECT_EQ(driver_->run("return document.querySelectorAll('figure').length"), 2);
    const auto widths = driver_->run(
        "return [...document.querySelectorAll('figure > svg')].map(plot => [...plot.querySelectorAll('.bar')].map("
        "bar => Math.round(100 * bar.getBoundingClientRect().width / plot.getBoundingClientRect().width)))");
    // Of 2,400, the end of the longest interval; a contender that failed has no bar.
    const Json medians{17, 4, 8, 42, 83};
    EXPECT_EQ(widths, (Json{medians, medians}));
}

#ifdef CINNABAR_HAS_HTTP

constexpr Rpc<int(int)> echo{"browser.echo"};
constexpr const char* long_name = "browser.a-name-that-is-rather-long-for-a-column";
constexpr Rpc<int(int)> stuck{long_name};

// A node that has served calls, holds one, and has lines in its log.
class BrowserOfANode : public Browser {
  protected:
    void SetUp() override {
        Browser::SetUp();
        if (IsSkipped()) return;
        NodeOptions options;
        options.introspection = hl::Introspection::anyone;
        node_.emplace(Node::listen("tcp://127.0.0.1:0", options).value());
        node_->serve(echo, [](int value) { return value; }).value();
        node_
            ->serve(
                stuck, [this](int value) { return gate_.pass(), value; }, on(node_->make_pool().value()))
            .value();
        for (int i = 0; i < 100; ++i) (void)node_->call(echo, node_->self_addr(), i).wait().value();
        for (int i = 0; i < 3; ++i) held_.push_back(node_->call(stuck, node_->self_addr(), i).future());
        gate_.await(1);
        set_log_sink([](const LogLine&, void*) {}, nullptr);
        log(LogLevel::warning, "app", "a line of the log that is about as long as such lines are: tcp://10.0.0.7:4000");
        set_log_sink(nullptr, nullptr);
    }
    void TearDown() override {
        gate_.open();
        for (auto& call : held_) EXPECT_TRUE(call.get().ok());
    }
    std::optional<Node> node_;
    test::Gate gate_;
    std::vector<Future<int>> held_;
};

TEST_F(BrowserOfANode, ShowsThePage) {
    Process page({"page", node_->address(), "--listen", "127.0.0.1:0", "--every", "1"});
    const std::string line = page.read_line();
    ASSERT_TRUE(line.starts_with("listening on ")) << line << page.err();
    const std::string url = line.substr(13);
    driver_->open(url);
    ASSERT_TRUE(eventually([&] {  // the page reloads itself and shows the new requests
        (void)node_->call(echo, node_->self_addr(), 1).wait();
        return driver_->run("return document.querySelectorAll('svg polyline').length") != 0;
    }));
    look_at("page", url);
    const auto text = driver_->run("return document.body.innerText").get<std::string>();
    for (const char* const part : {"browser.echo", "in its handler", "a line of the log", "tcp"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
    EXPECT_EQ(driver_->run("return document.querySelectorAll('h2').length"), 10);
    EXPECT_EQ(driver_->run(test::boxes_that_scroll("below")), Json::array()) << "on a phone";
    driver_->look({1280, false});
    driver_->open(url);
    (void)driver_->run("window.stop()");
    EXPECT_EQ(driver_->run(test::boxes_that_scroll("scroll")), Json::array());
    driver_->open(url + "calls.json");
    const auto json = driver_->run("return JSON.parse(document.body.innerText).calls.map(call => call.rpc)");
    EXPECT_EQ(std::ranges::count(json, Json(long_name)), 3 + 3) << "both sides of each: " << json;
}

#endif

}  // namespace
}  // namespace cinnabar::tools
